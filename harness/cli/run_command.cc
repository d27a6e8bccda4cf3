#include <errno.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/fd.h"
#include "harness/cli/command.h"
#include "harness/cli/execute.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/report_output.h"
#include "harness/cli/scenario_files.h"
#include "harness/cli/shell.h"
#include "harness/run/foreign_use.h"
#include "harness/run/placement.h"
#include "harness/run/version.h"
#include "results/fairness/judge.h"
#include "results/report/report.h"
#include "results/result_folder.h"

namespace blkfair {

namespace {

constexpr uint32_t kRepeatsMax = 1000;  // as the key's

class RunCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override;
  int Run() override;

 private:
  std::string Kernel() const { return kernel_.empty() ? "debian:6.12" : kernel_; }
  Result<void> CheckOptions(const std::vector<LoadedScenario>& loaded) const;
  Result<std::vector<std::string>> ReserveFolders(const std::vector<LoadedScenario>& loaded) const;
  std::vector<std::string> Overrides() const;
  std::string RepeatCommand(const LoadedScenario& loaded) const;
  std::string FolderOf(const LoadedScenario& loaded, size_t count) const;
  Result<ExecuteOptions> MakeExecuteOptions(const std::vector<LoadedScenario>& loaded);
  SummaryRow RunOne(const LoadedScenario& loaded, const Result<ExecuteOptions>& options,
                    const std::string& folder);
  std::vector<Execution> RunRepeats(const LoadedScenario& loaded,
                                    const Result<ExecuteOptions>& options);
  Result<void> Store(const LoadedScenario& loaded, const std::vector<Execution>& executions,
                     const ReportInput& input, const std::string& folder) const;

  std::vector<std::string> scenarios_;
  std::vector<std::string> overrides_;
  std::vector<std::string> destroy_;
  std::string on_;      // empty: not said
  std::string kernel_;  // likewise
  std::string time_;
  std::string seed_;
  uint32_t repeat_ = 0;       // 0: as the scenario says
  uint32_t only_repeat_ = 0;  // 0: all of them
  std::string out_;
  bool force_ = false;
  bool keep_ = false;
  bool quiet_ = false;
  ReportOutput output_;
  std::unique_ptr<ProgressLine> progress_;
};

CLI::App* RunCommand::AddTo(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Run scenarios and judge them: the verdict is the exit code");
  command->add_option("SCENARIO", scenarios_, "Scenario files, or folders of them")->required();
  command
      ->add_option("--on", on_, "Where: in a guest, or on this machine's own kernel (root) [guest]")
      ->check(CLI::IsMember({"guest", "host"}));
  command->add_option("--kernel", kernel_,
                      "The guest's kernel: debian:6.1, 6.12 or 7, host, a bzImage, a built tree "
                      "[debian:6.12]");
  command
      ->add_option("--time", time_,
                   "The guest's time: virtual (repeats exactly) or real [virtual, real with KVM]")
      ->check(CLI::IsMember({"virtual", "real"}));
  command->add_option("--seed", seed_, "Same as --set seed=N");
  command->add_option("--repeat", repeat_, "Same as --set repeat=N: whole runs, judged together")
      ->check(CLI::Range(1U, kRepeatsMax));
  command->add_option("--only-repeat", only_repeat_, "Run this repeat alone, exactly as it was run")
      ->check(CLI::Range(1U, kRepeatsMax));
  command->add_option("--set", overrides_, "Override a key: job.heavy.iodepth=64")
      ->allow_extra_args(false);
  command
      ->add_option("--destroy", destroy_,
                   "Let jobs write to this device (serial or path), where destroy_data says so too")
      ->allow_extra_args(false);
  command->add_option("--out", out_, "Result folder [blkfair-results/TIME-SCENARIO]");
  command->add_flag("--force", force_, "Write over a result folder that is not empty");
  command->add_flag("--keep", keep_, "Keep the work folder (image, console, QEMU's output)");
  output_.AddOptions(command);
  command->add_flag("-q,--quiet", quiet_, "No progress");
  return command;
}

std::vector<std::string> RunCommand::Overrides() const {
  std::vector<std::string> overrides = overrides_;
  if (!seed_.empty()) overrides.push_back("seed=" + seed_);
  if (repeat_ > 0) overrides.push_back(fmt::format("repeat={}", repeat_));
  return overrides;
}

std::string RunCommand::RepeatCommand(const LoadedScenario& loaded) const {
  // As it was called: what a shell finds again.
  std::string command =
      fmt::format("{} run {}", ShellQuoted(program_invocation_name), ShellQuoted(loaded.path));
  if (IsSimulated(loaded.scenario)) {
    // Neither a guest nor this host has a part in it.
  } else if (on_ == "host") {
    command += " --on host";
  } else {
    command += fmt::format(" --kernel {}", ShellQuoted(Kernel()));
    if (!time_.empty()) command += " --time " + time_;
  }
  command += SetOptions(Overrides());
  for (const std::string& device : destroy_) command += " --destroy " + ShellQuoted(device);
  if (only_repeat_ > 0) command += fmt::format(" --only-repeat {}", only_repeat_);
  return command;
}

// An option that would have no effect is a misunderstanding, and no run should start from one.
Result<void> RunCommand::CheckOptions(const std::vector<LoadedScenario>& loaded) const {
  const auto contradiction = [](const std::string& what) { return Fail(ErrorKind::kUsage, what); };
  const auto sets = [this](const std::string& key) {
    return std::any_of(overrides_.begin(), overrides_.end(),
                       [&](const std::string& text) { return text.starts_with(key + "="); });
  };
  if (!seed_.empty() && sets("seed")) return contradiction("--seed and --set seed: keep one");
  if (repeat_ > 0 && sets("repeat")) return contradiction("--repeat and --set repeat: keep one");
  for (const LoadedScenario& row : loaded) {
    const uint32_t repeats = row.scenario.repeat;
    if (repeats > 1 && only_repeat_ > repeats) {
      return contradiction(fmt::format("--only-repeat {}: {} has {} repeats", only_repeat_,
                                       row.scenario.name, repeats));
    }
  }
  const bool simulated = std::all_of(loaded.begin(), loaded.end(), [](const LoadedScenario& row) {
    return IsSimulated(row.scenario);
  });
  for (const auto& [option, value] : {std::pair("--kernel", kernel_), std::pair("--time", time_)}) {
    if (value.empty()) continue;
    if (simulated) {
      return contradiction(
          fmt::format("{}: simulated queues know no kernel and no other time; "
                      "leave it out",
                      option));
    }
    if (on_ == "host") {
      return contradiction(
          fmt::format("{} is about a guest, and --on host asks for none: leave one "
                      "of them out",
                      option));
    }
  }
  if (simulated && !on_.empty()) {
    return contradiction("--on: simulated queues run nowhere in particular; leave it out");
  }
  const bool destroys = std::any_of(loaded.begin(), loaded.end(), [](const LoadedScenario& row) {
    return std::any_of(
        row.scenario.fixtures.begin(), row.scenario.fixtures.end(), [](const FixtureSpec& fixture) {
          return fixture.params.Has("destroy_data") && fixture.params.Bool("destroy_data");
        });
  });
  if (!destroy_.empty() && !destroys) {
    return contradiction(
        fmt::format("--destroy {}: no fixture here says destroy_data = true", destroy_.front()));
  }
  return {};
}

// One folder for each scenario, made and kept before anything is measured.
Result<std::vector<std::string>> RunCommand::ReserveFolders(
    const std::vector<LoadedScenario>& loaded) const {
  std::vector<std::string> folders;
  for (const LoadedScenario& row : loaded) {
    std::string folder = FolderOf(row, loaded.size());
    for (int i = 2; std::find(folders.begin(), folders.end(), folder) != folders.end(); i++) {
      folder = fmt::format("{}-{}", FolderOf(row, loaded.size()), i);
    }
    if (auto reserved = ReserveResultFolder(folder, force_); !reserved) {
      for (const std::string& earlier : folders) ReleaseResultFolder(earlier);
      return Fail(reserved.error());
    }
    folders.push_back(folder);
  }
  return folders;
}

std::string RunCommand::FolderOf(const LoadedScenario& loaded, size_t count) const {
  if (!out_.empty()) return count == 1 ? out_ : out_ + "/" + loaded.scenario.name;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  const std::string base = fmt::format("blkfair-results/{}-{}", stamp, loaded.scenario.name);
  std::string folder = base;
  for (int i = 2; std::filesystem::exists(folder); i++) folder = fmt::format("{}-{}", base, i);
  return folder;
}

Result<ExecuteOptions> RunCommand::MakeExecuteOptions(const std::vector<LoadedScenario>& loaded) {
  ExecuteOptions options;
  options.where = on_ == "host" ? Where::kHost : Where::kGuest;
  options.keep = keep_;
  options.destroy = destroy_;
  for (const LoadedScenario& row : loaded) {
    const Result<void> may =
        CheckForeignUse(row.scenario, on_ == "host" ? "host" : "guest", destroy_);
    if (!may && may.error().kind == ErrorKind::kUsage) return Fail(may.error());
    if (on_ != "host" && !IsSimulated(row.scenario)) RETURN_IF_ERROR(CheckGuestCpus(row.scenario));
  }
  const bool guest = options.where == Where::kGuest &&
                     std::any_of(loaded.begin(), loaded.end(), [](const LoadedScenario& row) {
                       return !IsSimulated(row.scenario);
                     });
  if (!guest) return options;
  const bool real = time_.empty() ? KvmWorks() : time_ == "real";
  options.time = real ? GuestTime::kReal : GuestTime::kVirtual;
  time_ = real ? "real" : "virtual";
  ASSIGN_OR_RETURN(
      options.kernel,
      ResolveKernel(
          Kernel(), [this](const std::string& line) { progress_->Say("blkfair: " + line); },
          InterruptFlag::Raised));
  return options;
}

Result<void> RunCommand::Store(const LoadedScenario& loaded,
                               const std::vector<Execution>& executions, const ReportInput& input,
                               const std::string& folder) const {
  ResultFolder result;
  result.scenario_path = loaded.path;
  result.repeat_command = input.repeat_command;
  for (const Execution& execution : executions) result.records.push_back(execution.record);
  RETURN_IF_ERROR(WriteResultFolder(folder, result));
  RETURN_IF_ERROR(WriteWholeFile(folder + "/report.txt", TextReport(input, /*colour=*/false)));
  for (const Execution& execution : executions) {
    if (execution.console.empty()) continue;
    const std::string name = executions.size() == 1
                                 ? std::string("console.log")
                                 : fmt::format("console-{}.log", execution.record.repeat);
    RETURN_IF_ERROR(WriteWholeFile(folder + "/" + name, execution.console));
  }
  return {};
}

// What could not even start still has a record, a report and a place in the summary.
Execution Failed(const LoadedScenario& loaded, const Error& error) {
  Execution execution;
  Record& record = execution.record;
  record.tool_version = kVersion;
  record.scenario_name = loaded.scenario.name;
  record.scenario_toml = loaded.canonical_toml;
  record.scenario_hash = loaded.hash;
  record.seed = loaded.scenario.seed;
  record.outcome = error.kind == ErrorKind::kUnmet         ? RunOutcome::kUnmet
                   : error.kind == ErrorKind::kInterrupted ? RunOutcome::kInterrupted
                                                           : RunOutcome::kError;
  record.outcome_why = error.message;
  return execution;
}

std::vector<Execution> RunCommand::RunRepeats(const LoadedScenario& loaded,
                                              const Result<ExecuteOptions>& options) {
  if (!options) return {Failed(loaded, options.error())};
  std::vector<ExecuteTask> tasks;
  for (uint32_t repeat = 1; repeat <= loaded.scenario.repeat; repeat++) {
    tasks.push_back({&loaded, *options});
    tasks.back().options.repeat = repeat;
  }
  if (only_repeat_ > 0) {
    tasks.resize(1);
    tasks.front().options.repeat = only_repeat_;
  }
  std::vector<Execution> executions;
  for (std::optional<Result<Execution>>& result : ExecuteAll(tasks, progress_.get(), nullptr)) {
    if (!result) continue;
    executions.push_back(*result ? std::move(**result) : Failed(loaded, result->error()));
  }
  return executions;
}

SummaryRow RunCommand::RunOne(const LoadedScenario& loaded, const Result<ExecuteOptions>& options,
                              const std::string& folder) {
  const std::vector<Execution> executions = RunRepeats(loaded, options);
  std::vector<Record> records;
  for (const Execution& execution : executions) records.push_back(execution.record);
  Judgement judgement = Judge(loaded.scenario, records);
  ReportInput input;
  input.scenario = &loaded.scenario;
  input.records = records;
  input.judgement = &judgement;
  input.repeat_command = RepeatCommand(loaded);
  input.results_folder = folder;
  if (auto stored = Store(loaded, executions, input, folder); !stored) {
    // The report, the summary and the exit code say the same.
    judgement.warnings.push_back("the results were not stored: " + stored.error().message);
    judgement.exit_code = kExitError;
    judgement.outcome = Outcome::kError;
    input.results_folder.clear();
  }
  const SummaryRow row = output_.Add(input);
  for (const Execution& execution : executions) {
    if (execution.kept_folder.empty()) continue;
    fmt::print(stderr, "blkfair: the work folder is kept: {}\n", execution.kept_folder);
  }
  return row;
}

int RunCommand::Run() {
  const auto loaded = LoadScenarios(scenarios_, Overrides());
  if (!loaded) return kExitUsage;
  if (const auto consistent = CheckOptions(*loaded); !consistent) {
    fmt::print(stderr, "blkfair: {}\n", consistent.error().message);
    return kExitUsage;
  }
  for (const LoadedScenario& row : *loaded) {
    if (auto free = CheckResultFolderFree(FolderOf(row, loaded->size()), force_); !free) {
      fmt::print(stderr, "blkfair: {}\n", free.error().message);
      return kExitUsage;
    }
  }
  InterruptFlag::Install();
  progress_ = std::make_unique<ProgressLine>(quiet_);
  const auto options = MakeExecuteOptions(*loaded);
  if (!options && options.error().kind == ErrorKind::kUsage) {
    fmt::print(stderr, "blkfair: {}\n", options.error().message);
    return kExitUsage;
  }
  const auto folders = ReserveFolders(*loaded);
  if (!folders) {
    fmt::print(stderr, "blkfair: {}\n", folders.error().message);
    return ExitCodeOf(folders.error().kind);
  }
  std::vector<int> codes;
  for (size_t i = 0; i < loaded->size() && !InterruptFlag::Raised(); i++) {
    codes.push_back(RunOne((*loaded)[i], options, (*folders)[i]).exit_code);
  }
  for (size_t i = codes.size(); i < loaded->size(); i++) {
    ReleaseResultFolder((*folders)[i]);
    output_.AddNotRun((*loaded)[i].scenario.name);
  }
  if (codes.empty()) fmt::print(stderr, "blkfair: interrupted before anything was measured\n");
  output_.Finish(loaded->size() > 1, /*summary=*/true);
  return InterruptFlag::Raised() ? kExitInterrupted : CombineExitCodes(codes);
}

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace blkfair
