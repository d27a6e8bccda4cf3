// `blkfair selftest`: the ruler against what is known. Simulated runs with a run-to-run spread of
// their own, a planted change in one side, and the same comparison that `ab` makes.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/check.h"
#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/run/catalog.h"
#include "harness/run/run.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"
#include "results/compare/comparison.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"

namespace blkfair {

namespace {

constexpr const char* kScenario = R"(
name = "selftest"
situation = "Two jobs on simulated queues that share tags."
expectation = "What was planted is found, and nothing else."
why = "A ruler that was never held against a known length measures nothing."
occupancy_interval = "5ms"

[[fixture]]
name = "set"
kind = "sim"
queues = 2
depth = 8
service_time = ["10ms", "1ms"]
service_cv = 0.2

[[job]]
name = "heavy"
queue = "set:0"
iodepth = 32

[[job]]
name = "light"
queue = "set:1"

[[phase]]
name = "contention"
jobs = ["heavy", "light"]
settle = "0s"
ramp = "100ms"
runtime = "1s"

[[assert]]
kind = "gap"
phase = "contention"
job = "light"
max = "500ms"

[[compare]]
phase = "contention"
job = "light"
metric = "iops"
margin = "5%"
)";

constexpr double kRunSpread = 0.02;  // standard deviation of a run's service time, relative
constexpr uint32_t kRepeats = 6;
constexpr double kMayBeWrong = 0.05;

// One row of the table: what was planted, and what came of it.
struct Row {
  std::string planted;
  double change = 0;  // of the service time of B
  std::string policy = "fair";
  std::array<int, 4> counts{};  // by Change: worse, better, equivalent, inconclusive
};

Record RunOnce(double service_ms, const std::string& policy, uint64_t seed) {
  const std::vector<Override> overrides = {
      fmt::format("fixture.set.service_time=[\"10ms\", \"{:.0f}ns\"]", service_ms * 1e6),
      "fixture.set.policy=" + policy, fmt::format("seed={}", seed)};
  const auto scenario = ParseScenario(kScenario, "selftest", TheCatalog(), overrides);
  CHECK(scenario.has_value());
  KernelFs fs(KernelRoots::Real());
  KmodModuleLoader modules;
  Journal journal = Journal::Discarding();
  RunOptions run;
  run.scenario = &*scenario;
  run.canonical_toml = CanonicalToml(*scenario, TheCatalog());
  run.scenario_hash = ScenarioHash(run.canonical_toml);
  run.executor_name = "sim";
  run.time_name = "simulated";
  run.fs = &fs;
  run.modules = &modules;
  run.journal = &journal;
  return RunScenario(run);
}

class SelftestCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "selftest", "Hold the ruler against known changes: what is found, and how often");
    command->add_option("--trials", trials_, "Comparisons for each planted change")
        ->check(CLI::Range(10, 10000))
        ->capture_default_str();
    command->add_option("--seed", seed_, "Of everything random")->capture_default_str();
    command->add_flag("-q,--quiet", quiet_, "No progress");
    return command;
  }

  int Run() override;

 private:
  Change Trial(const Row& row, uint64_t trial) const;
  // Why the table is not what it has to be; empty when it is.
  std::string Complaint(const std::vector<Row>& rows) const;

  int trials_ = 100;
  uint64_t seed_ = 1;
  bool quiet_ = false;
};

Change SelftestCommand::Trial(const Row& row, uint64_t trial) const {
  std::mt19937_64 random(seed_ * 1'000'003 + trial);
  std::normal_distribution<double> spread(0, kRunSpread);
  std::vector<Record> a;
  std::vector<Record> b;
  for (uint32_t i = 0; i < kRepeats; i++) {
    a.push_back(RunOnce(std::exp(spread(random)), "fair", random() >> 1));
    b.push_back(RunOnce((1 + row.change) * std::exp(spread(random)), row.policy, random() >> 1));
    a.back().repeat = b.back().repeat = i + 1;
  }
  const auto scenario = ParseScenario(kScenario, "selftest", TheCatalog(), {});
  CompareOptions options;
  options.declared = {"fixture.set.service_time", "fixture.set.policy", "seed"};
  const Comparison comparison = Compare(*scenario, a, b, options);
  return comparison.metrics.empty() ? Change::kInconclusive : comparison.metrics.front().change;
}

std::string SelftestCommand::Complaint(const std::vector<Row>& rows) const {
  const auto part = [&](const Row& row, Change change) {
    return row.counts[static_cast<size_t>(change)] / static_cast<double>(trials_);
  };
  // Three standard deviations of a part of that many trials.
  const double slack = 3 * std::sqrt(kMayBeWrong * (1 - kMayBeWrong) / trials_);
  const double found = part(rows[0], Change::kWorse) + part(rows[0], Change::kBetter);
  if (found > kMayBeWrong + slack) {
    return fmt::format("of nothing planted {:.0f} % was found to be a change", found * 100);
  }
  for (const Row& row : rows) {
    const bool must_be_found = row.change >= 0.1 || row.policy != "fair";
    if (must_be_found && part(row, Change::kWorse) < 1 - kMayBeWrong - slack) {
      return fmt::format("{}: found in {:.0f} % only", row.planted,
                         part(row, Change::kWorse) * 100);
    }
  }
  return {};
}

int SelftestCommand::Run() {
  InterruptFlag::Install();
  ProgressLine progress(quiet_);
  std::vector<Row> rows = {{"nothing (A/A)", 0, "fair", {}},
                           {"3 % slower", 0.03, "fair", {}},
                           {"10 % slower", 0.1, "fair", {}},
                           {"30 % slower", 0.3, "fair", {}},
                           {"no fairness", 0, "fcfs", {}}};
  fmt::print(
      "{} comparisons each, of {} runs a side; runs differ by {:.0f} % by themselves; "
      "margin 5 %\n\n",
      trials_, kRepeats, kRunSpread * 100);
  fmt::print("  {:<14} {:>8} {:>8} {:>11} {:>13}\n", "planted in B", "worse", "better",
             "equivalent", "inconclusive");
  for (Row& row : rows) {
    for (int trial = 0; trial < trials_; trial++) {
      if (InterruptFlag::Raised()) return kExitInterrupted;
      progress.Show("selftest: " + row.planted,
                    RunProgress{fmt::format("{} of {}", trial, trials_), 0, 0, 0, 0});
      const auto seed =
          static_cast<uint64_t>(trial) + 100'000 * static_cast<uint64_t>(&row - rows.data());
      row.counts[static_cast<size_t>(Trial(row, seed))]++;
    }
    progress.Clear();
    const auto percent = [&](Change change) {
      return fmt::format("{:.0f} %", 100.0 * row.counts[static_cast<size_t>(change)] / trials_);
    };
    fmt::print("  {:<14} {:>8} {:>8} {:>11} {:>13}\n", row.planted, percent(Change::kWorse),
               percent(Change::kBetter), percent(Change::kEquivalent),
               percent(Change::kInconclusive));
  }
  const std::string complaint = Complaint(rows);
  fmt::print("\n{}\n", complaint.empty() ? "The ruler finds what was planted, and nothing else."
                                         : "The ruler is wrong: " + complaint);
  return complaint.empty() ? kExitPass : kExitFail;
}

}  // namespace

std::unique_ptr<Command> MakeSelftestCommand() { return std::make_unique<SelftestCommand>(); }

}  // namespace blkfair
