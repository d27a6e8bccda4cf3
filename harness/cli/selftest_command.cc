// `blkfair selftest`: the ruler against what is known. What is found, how often, and whether the
// number of runs that a report asks for is enough.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/selftest_trials.h"
#include "results/statistics.h"

namespace blkfair {

namespace {

constexpr double kMayBeWrong = 0.05;
constexpr double kByChance = 0.0125;  // 17 of 200 tables may be wrong, and 4 of 20
constexpr double kMustBeFound = 0.8;
// A report that asks for more runs of a side than this is not followed.
constexpr size_t kMostRepeats = 100;

// One row of the table: what was planted, and what came of it.
struct Row {
  Planted planted;
  size_t trials = 0;
  std::array<size_t, 6> counts{};  // by Change, at six runs a side
  std::vector<size_t> asked;       // runs that inconclusive reports asked for
  size_t found_as_asked = 0;       // of those: called worse by a comparison of that many runs

  size_t Count(Change change) const { return counts[static_cast<size_t>(change)]; }
  size_t Found() const { return Count(Change::kWorse) + found_as_asked; }
  double Part(size_t count) const {
    return static_cast<double>(count) / static_cast<double>(trials);
  }
};

class SelftestCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "selftest", "Hold the ruler against known changes: what is found, and how often");
    command->add_option("--tables", tables_, "Comparisons of a thing with itself")
        ->check(CLI::Range(20, 10000))
        ->capture_default_str();
    command->add_option("--trials", trials_, "Comparisons for each planted change")
        ->check(CLI::Range(10, 10000))
        ->capture_default_str();
    command
        ->add_option("--guests", guests_,
                     "Also so many comparisons of a kernel with itself, twelve boots each")
        ->check(CLI::Range(1, 1000));
    command->add_option("--kernel", kernel_, "The guests' kernel")->capture_default_str();
    command->add_option("--seed", seed_, "Of everything random")->capture_default_str();
    command->add_flag("-q,--quiet", quiet_, "No progress");
    return command;
  }

  int Run() override;

 private:
  bool FalseCalls(ProgressLine* progress);
  bool Fill(Row* row, uint64_t salt, ProgressLine* progress);
  void Print(const Row& row) const;
  void Complain(const std::vector<Row>& rows);
  Result<void> Guests(ProgressLine* progress);
  void CheckFalseCalls(const std::string& what, size_t wrong, size_t tables);
  uint64_t SeedOf(uint64_t salt, uint64_t trial) const {
    return seed_ * 1'000'003 + salt * 100'000'007 + trial;
  }

  size_t tables_ = 200;
  size_t trials_ = 100;
  size_t guests_ = 0;
  std::string kernel_ = "debian:6.12";
  uint64_t seed_ = 1;
  bool quiet_ = false;
  std::vector<std::string> complaints_;
};

void Show(ProgressLine* progress, const std::string& what, size_t done, size_t all) {
  progress->Show("selftest: " + what, RunProgress{fmt::format("{} of {}", done, all), 0, 0, 0, 0});
}

void SelftestCommand::CheckFalseCalls(const std::string& what, size_t wrong, size_t tables) {
  const size_t most = MostByChance(tables, kMayBeWrong, kByChance);
  fmt::print("{}: {} of {} tables call a change that is none; {} may\n", what, wrong, tables, most);
  if (wrong <= most) return;
  complaints_.push_back(
      fmt::format("{} of {} tables call a change where there is none ({})", wrong, tables, what));
}

// False where it was interrupted.
bool SelftestCommand::FalseCalls(ProgressLine* progress) {
  size_t wrong = 0;
  for (size_t i = 0; i < tables_; i++) {
    if (InterruptFlag::Raised()) return false;
    Show(progress, "A against A", i, tables_);
    wrong += CallsAChange(SimulatedComparison({}, kSelftestRepeats, SeedOf(0, i)));
  }
  progress->Clear();
  CheckFalseCalls("A against A", wrong, tables_);
  return true;
}

// False where it was interrupted. A comparison that is inconclusive is made anew, with other runs
// and as many as its report asks for.
bool SelftestCommand::Fill(Row* row, uint64_t salt, ProgressLine* progress) {
  row->trials = trials_;
  for (size_t i = 0; i < trials_; i++) {
    if (InterruptFlag::Raised()) return false;
    Show(progress, row->planted.name, i, trials_);
    const Comparison first =
        SimulatedComparison(row->planted, kSelftestRepeats, SeedOf(salt, 2 * i));
    const ComparedMetric& found = PlantedRow(first);
    row->counts[static_cast<size_t>(found.change)]++;
    if (found.change != Change::kInconclusive || !found.repeats_needed) continue;
    row->asked.push_back(*found.repeats_needed);
    if (*found.repeats_needed > kMostRepeats) continue;
    const Comparison second =
        SimulatedComparison(row->planted, *found.repeats_needed, SeedOf(salt, 2 * i + 1));
    row->found_as_asked += PlantedRow(second).change == Change::kWorse;
  }
  std::sort(row->asked.begin(), row->asked.end());
  progress->Clear();
  return true;
}

void SelftestCommand::Print(const Row& row) const {
  const auto percent = [&](size_t count) { return fmt::format("{:.0f} %", 100 * row.Part(count)); };
  const std::string asked =
      row.asked.empty() ? "-" : std::to_string(row.asked[row.asked.size() / 2]);
  fmt::print("  {:<12} {:>7} {:>7} {:>11} {:>13}   {:>9} {:>7}\n", row.planted.name,
             percent(row.Count(Change::kWorse)), percent(row.Count(Change::kBetter)),
             percent(row.Count(Change::kEquivalent)), percent(row.Count(Change::kInconclusive)),
             asked, percent(row.Found()));
}

// `rows`: changes that grow, and the one of policy at the end.
void SelftestCommand::Complain(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (row.Part(row.Found()) >= kMustBeFound) continue;
    complaints_.push_back(fmt::format("{}: found in {:.0f} % only, with as many runs as asked for",
                                      row.planted.name, 100 * row.Part(row.Found())));
  }
  for (size_t i = 0; i + 2 < rows.size(); i++) {
    const double less = rows[i].Part(rows[i].Count(Change::kWorse));
    const double more = rows[i + 1].Part(rows[i + 1].Count(Change::kWorse));
    const double error =
        std::sqrt((less * (1 - less) + more * (1 - more)) / static_cast<double>(trials_));
    if (more >= less - 3 * error) continue;
    complaints_.push_back(fmt::format("{} is found less often than {}", rows[i + 1].planted.name,
                                      rows[i].planted.name));
  }
}

Result<void> SelftestCommand::Guests(ProgressLine* progress) {
  ASSIGN_OR_RETURN(
      const Kernel kernel,
      ResolveKernel(
          kernel_, [progress](const std::string& line) { progress->Say("blkfair: " + line); },
          InterruptFlag::Raised));
  ASSIGN_OR_RETURN(const std::vector<Comparison> comparisons,
                   GuestComparisons(kernel, guests_, progress));
  size_t wrong = 0;
  size_t equivalent = 0;
  for (const Comparison& comparison : comparisons) {
    wrong += CallsAChange(comparison);
    equivalent += comparison.exit_code == kExitPass;
  }
  CheckFalseCalls("\n" + kernel_ + " against itself, in guests", wrong, guests_);
  fmt::print("{} of them are equivalent in all that is compared, within {:.0f} %\n", equivalent,
             kSelftestMargin * 100);
  return {};
}

int SelftestCommand::Run() {
  InterruptFlag::Install();
  ProgressLine progress(quiet_);
  fmt::print(
      "Simulated runs that differ by {:.0f} % by themselves, {} a side unless more are asked for; "
      "three\nprimary metrics, decided together at {:.0f} %; margin {:.0f} %\n\n",
      kRunSpread * 100, kSelftestRepeats, kMayBeWrong * 100, kSelftestMargin * 100);
  if (!FalseCalls(&progress)) return kExitInterrupted;
  std::vector<Row> rows(4);
  rows[0].planted = {"3 % slower", 0.03, "fair"};
  rows[1].planted = {"10 % slower", 0.1, "fair"};
  rows[2].planted = {"30 % slower", 0.3, "fair"};
  rows[3].planted = {"no fairness", 0, "fcfs"};
  fmt::print("\n  {} trials each, {} runs a side{:27} then as many as asked for\n", trials_,
             kSelftestRepeats, "");
  fmt::print("  {:<12} {:>7} {:>7} {:>11} {:>13}   {:>9} {:>7}\n", "planted in B", "worse",
             "better", "equivalent", "inconclusive", "median n", "found");
  for (Row& row : rows) {
    if (!Fill(&row, static_cast<uint64_t>(&row - rows.data()) + 1, &progress)) {
      return kExitInterrupted;
    }
    Print(row);
  }
  Complain(rows);
  if (guests_ > 0) {
    if (const Result<void> done = Guests(&progress); !done) {
      progress.Clear();
      fmt::print(stderr, "blkfair: {}\n", done.error().message);
      return ExitCodeOf(done.error().kind);
    }
  }
  for (const std::string& complaint : complaints_) {
    fmt::print("\nThe ruler is wrong: {}\n", complaint);
  }
  if (complaints_.empty()) fmt::print("\nThe ruler finds what was planted, and nothing else.\n");
  return complaints_.empty() ? kExitPass : kExitFail;
}

}  // namespace

std::unique_ptr<Command> MakeSelftestCommand() { return std::make_unique<SelftestCommand>(); }

}  // namespace blkfair
