// `blkfair ab`: two kernels, or two values of one key, run in turns and compared.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/fd.h"
#include "base/hash.h"
#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/scenario_files.h"
#include "harness/cli/shell.h"
#include "harness/cli/side.h"
#include "results/compare/comparison.h"
#include "results/fairness/judge.h"
#include "results/report/comparison_report.h"
#include "results/result_folder.h"

namespace blkfair {

namespace {

constexpr uint32_t kRepeats = 6;  // the fewest whose order statistics hold a median with 95 %
constexpr double kErrorAllowed = 0.05;
constexpr const char* kDefaultKernel = "debian:6.12";

// A or B.
struct NamedSide : Side {
  std::string name;
};

class AbCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override;
  int Run() override;

 private:
  Result<void> CheckArguments() const;
  Result<void> CheckAgainst(const LoadedScenario& loaded) const;
  std::string KernelOf(size_t side) const;
  Result<void> Prepare(const std::string& scenario, const std::string& folder);
  Result<void> TakeUpEarlier(Side* side) const;
  Result<void> RunUpTo(uint32_t repeats);
  Result<int> One(const std::string& scenario, const std::string& folder);
  Comparison CompareSides(double confidence) const;
  std::vector<uint32_t> Looks() const;
  std::string CommandLine(const std::string& scenario) const;

  std::vector<std::string> scenarios_;
  std::vector<std::string> kernels_;
  std::vector<std::string> set_a_;
  std::vector<std::string> set_b_;
  std::vector<std::string> overrides_;
  std::string time_;
  std::string out_ = "blkfair-ab";
  uint32_t repeats_ = kRepeats;
  uint32_t max_repeats_ = 0;
  bool resume_ = false;
  bool force_ = false;
  bool json_ = false;
  bool quiet_ = false;
  std::array<NamedSide, 2> sides_;
  std::unique_ptr<ProgressLine> progress_;
};

CLI::App* AbCommand::AddTo(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "ab", "Run two kernels, or two values of a key, in turns: worse, better or equivalent");
  command->add_option("SCENARIO", scenarios_, "Scenario files")
      ->required()
      ->check(CLI::ExistingFile);
  command
      ->add_option("--kernel", kernels_,
                   "The kernel of A, and again that of B; once: both run on it, see --set-a")
      ->allow_extra_args(false);
  command->add_option("--set-a", set_a_, "Override a key in A: fixture.pair.scheduler=none")
      ->allow_extra_args(false);
  command->add_option("--set-b", set_b_, "Override the same key in B")->allow_extra_args(false);
  command->add_option("--set", overrides_, "Override a key in both")->allow_extra_args(false);
  command->add_option("--time", time_, "The guests' time: virtual or real [virtual]")
      ->check(CLI::IsMember({"virtual", "real"}));
  command->add_option("--repeat", repeats_, "Runs of each side")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command
      ->add_option("--max-repeat", max_repeats_,
                   "Go on to at most so many until it is decided; looks and errors are planned "
                   "beforehand")
      ->check(CLI::Range(2, 1000));
  command->add_option("--out", out_, "Result folder")->capture_default_str();
  command->add_flag("--resume", resume_,
                    "Take up what an interrupted ab left in the result folder");
  command->add_flag("--force", force_, "Compare although the sides differ elsewhere; name where");
  command->add_flag("--json", json_, "One JSON document instead of the mail report");
  command->add_flag("-q,--quiet", quiet_, "No progress");
  return command;
}

// "fixture.pair.depth" of "fixture.pair.depth=32".
std::string KeyOf(const std::string& override_text) {
  return override_text.substr(0, override_text.find('='));
}

Result<void> AbCommand::CheckArguments() const {
  if (kernels_.size() > 2) {
    return Fail(ErrorKind::kUsage, "ab compares two kernels: give --kernel twice");
  }
  const bool kernels_differ = kernels_.size() == 2;
  if (kernels_differ == (!set_a_.empty() || !set_b_.empty())) {
    return Fail(ErrorKind::kUsage,
                kernels_differ ? "two kernels and --set-a or --set-b: two things would differ, and "
                                 "no answer would say which of them it was; take one away"
                               : "nothing differs between A and B: give --kernel twice, or "
                                 "--set-a KEY=VALUE and --set-b KEY=VALUE");
  }
  for (const std::string& text : overrides_) {
    for (const std::vector<std::string>& side : {set_a_, set_b_}) {
      for (const std::string& other : side) {
        if (KeyOf(text) != KeyOf(other)) continue;
        return Fail(ErrorKind::kUsage,
                    fmt::format("--set {} and a side's own {}: keep one of them", text, other));
      }
    }
  }
  if (max_repeats_ > 0 && max_repeats_ < repeats_) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--max-repeat {} is below --repeat {}: there is no second look",
                            max_repeats_, repeats_));
  }
  return {};
}

// What has no effect is a misunderstanding: simulated queues know no kernel and no other time.
Result<void> AbCommand::CheckAgainst(const LoadedScenario& loaded) const {
  if (!IsSimulated(loaded.scenario)) return {};
  for (const auto& [option, given] :
       {std::pair("--kernel", !kernels_.empty()), std::pair("--time", !time_.empty())}) {
    if (!given) continue;
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: simulated queues know no kernel and no other time; leave it out, "
                            "and let --set-a and --set-b differ",
                            option));
  }
  return {};
}

std::string AbCommand::KernelOf(size_t side) const {
  if (kernels_.empty()) return kDefaultKernel;
  return kernels_.size() == 2 ? kernels_[side] : kernels_.front();
}

// The scenario as each side runs it.
Result<void> AbCommand::Prepare(const std::string& scenario, const std::string& folder) {
  for (size_t i = 0; i < sides_.size(); i++) {
    NamedSide& side = sides_[i];
    side = NamedSide();
    side.folder = folder + (i == 0 ? "/a" : "/b");
    const std::vector<std::string>& own = i == 0 ? set_a_ : set_b_;
    std::vector<std::string> overrides = overrides_;
    overrides.insert(overrides.end(), own.begin(), own.end());
    auto loaded = LoadScenarios({scenario}, overrides);
    if (!loaded) return Fail(loaded.error());
    side.loaded = std::move(loaded->front());
    RETURN_IF_ERROR(CheckAgainst(side.loaded));
    if (!IsSimulated(side.loaded.scenario)) side.kernel = KernelOf(i);
    side.name = fmt::format("{}{}{}", side.kernel, side.kernel.empty() || own.empty() ? "" : " ",
                            fmt::join(own, " "));
    side.command = CommandLine(side.loaded.path);
    if (side.name.empty()) side.name = "as the scenario has it";
    if (resume_) {
      RETURN_IF_ERROR(TakeUpEarlier(&side));
    } else if (!CheckResultFolderFree(side.folder, /*force=*/false)) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("--out {}: an earlier ab left its records there; take it up with "
                              "--resume, or name another folder",
                              folder));
    }
  }
  for (Side& side : sides_) {
    side.options.time = time_ == "real" ? GuestTime::kReal : GuestTime::kVirtual;
    if (IsSimulated(side.loaded.scenario)) continue;
    ASSIGN_OR_RETURN(
        side.options.kernel,
        ResolveKernel(
            side.kernel, [this](const std::string& line) { progress_->Say("blkfair: " + line); },
            InterruptFlag::Raised));
  }
  return {};
}

// Looks and errors were planned for the command that began it, so no other one goes on.
Result<void> AbCommand::TakeUpEarlier(Side* side) const {
  std::error_code error;
  if (!std::filesystem::exists(side->folder + "/manifest.json", error)) return {};
  ASSIGN_OR_RETURN(const ResultFolder earlier, ReadResultFolder(side->folder));
  if (earlier.repeat_command != side->command) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--resume: {} was begun by another command ({}): repeat that one, or "
                            "name another --out",
                            side->folder, earlier.repeat_command));
  }
  for (const Record& record : earlier.records) {
    if (record.scenario_hash != side->loaded.hash) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("--resume: {} was changed since {} was begun: name another --out",
                              side->loaded.path, side->folder));
    }
    if (record.outcome == RunOutcome::kComplete) side->records[record.repeat] = record;
  }
  return {};
}

// A runs the odd repeats and B the even ones, so that no two runs draw the same random numbers and
// A against A is a fair test of the ruler. In blocks of ABBA or BAAB, by the scenario's seed.
Result<void> AbCommand::RunUpTo(uint32_t repeats) {
  std::vector<SideRun> runs;
  for (uint32_t i = 0; i < repeats; i++) {
    const bool mirrored = Mix64(sides_[0].loaded.scenario.seed + i / 2) % 2 == 1;
    const bool a_first = (i % 2 == 0) != mirrored;
    for (const bool first : {true, false}) {
      Side& side = sides_[first == a_first ? 0 : 1];
      const uint32_t repeat = 2 * i + (&side == &sides_[0] ? 1 : 2);
      if (side.records.count(repeat) == 0) runs.push_back({&side, repeat});
    }
  }
  return RunSides(runs, progress_.get());
}

// How many repeats there are when the data is looked at: fixed before the first run.
std::vector<uint32_t> AbCommand::Looks() const {
  std::vector<uint32_t> looks = {repeats_};
  while (looks.back() < max_repeats_) {
    looks.push_back(std::min(max_repeats_, looks.back() + (looks.back() + 1) / 2));
  }
  return looks;
}

Comparison AbCommand::CompareSides(double confidence) const {
  CompareOptions options;
  options.kernels_differ = sides_[0].kernel != sides_[1].kernel;
  options.force = force_;
  options.confidence = confidence;
  for (const std::vector<std::string>& overrides : {set_a_, set_b_}) {
    for (const std::string& text : overrides) options.declared.push_back(KeyOf(text));
  }
  return Compare(sides_[0].loaded.scenario, sides_[0].List(), sides_[1].List(), options);
}

std::string AbCommand::CommandLine(const std::string& scenario) const {
  std::string command = "blkfair ab";
  for (const std::string& kernel : kernels_) command += " --kernel " + ShellQuoted(kernel);
  for (const std::string& text : set_a_) command += " --set-a " + ShellQuoted(text);
  for (const std::string& text : set_b_) command += " --set-b " + ShellQuoted(text);
  command += SetOptions(overrides_);
  if (!time_.empty()) command += " --time " + time_;
  command += fmt::format(" --repeat {}", repeats_);
  if (max_repeats_ > 0) command += fmt::format(" --max-repeat {}", max_repeats_);
  return command + " " + ShellQuoted(scenario);
}

Result<int> AbCommand::One(const std::string& scenario, const std::string& folder) {
  RETURN_IF_ERROR(Prepare(scenario, folder));
  const std::vector<uint32_t> looks = Looks();
  // Each look spends the same part of the error, so that together they spend what one would.
  const double confidence = 1 - kErrorAllowed / static_cast<double>(looks.size());
  Comparison comparison;
  for (const uint32_t look : looks) {
    RETURN_IF_ERROR(RunUpTo(look));
    if (InterruptFlag::Raised()) break;
    comparison = CompareSides(confidence);
    if (comparison.exit_code != kExitInconclusive) break;
  }
  if (sides_[0].records.empty() || sides_[1].records.empty()) {
    return Fail(ErrorKind::kInterrupted, "interrupted before both sides were measured");
  }
  if (InterruptFlag::Raised()) {
    progress_->Say(fmt::format("blkfair: interrupted; go on with --resume --out {}", out_));
    return kExitInterrupted;
  }
  const std::vector<Record> a = sides_[0].List();
  const std::vector<Record> b = sides_[1].List();
  ComparisonReportInput input;
  input.scenario = &sides_[0].loaded.scenario;
  input.a = {sides_[0].name, a};
  input.b = {sides_[1].name, b};
  input.comparison = &comparison;
  input.confidence = confidence;
  input.looks = looks;
  input.command = CommandLine(scenario);
  const std::string mail = MailReport(input);
  RETURN_IF_ERROR(WriteWholeFile(folder + "/report.txt", mail));
  fmt::print("{}", json_ ? ComparisonJson(input) : mail);
  return comparison.exit_code;
}

int AbCommand::Run() {
  progress_ = std::make_unique<ProgressLine>(quiet_);
  std::vector<int> codes;
  Result<void> ready = CheckArguments();
  if (ready) {
    InterruptFlag::Install();
    for (const std::string& scenario : scenarios_) {
      const std::string name = std::filesystem::path(scenario).stem();
      const auto code = One(scenario, scenarios_.size() == 1 ? out_ : out_ + "/" + name);
      if (code) {
        codes.push_back(*code);
        continue;
      }
      if (code.error().kind == ErrorKind::kInterrupted) codes.push_back(kExitInterrupted);
      ready = Fail(code.error());
      break;
    }
  }
  progress_->Clear();
  if (!ready) {
    fmt::print(stderr, "blkfair: {}\n", ready.error().message);
    return ExitCodeOf(ready.error().kind);
  }
  return InterruptFlag::Raised() ? kExitInterrupted : CombineExitCodes(codes);
}

}  // namespace

std::unique_ptr<Command> MakeAbCommand() { return std::make_unique<AbCommand>(); }

}  // namespace blkfair
