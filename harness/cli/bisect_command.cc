// `blkfair bisect-step`: builds a kernel tree, boots it, judges it, and answers in the exit codes
// of `git bisect run`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/fd.h"
#include "harness/cli/command.h"
#include "harness/cli/execute.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/scenario_files.h"
#include "harness/cli/shell.h"
#include "harness/guest/process.h"
#include "harness/kernels/bisect.h"
#include "harness/kernels/tree_build.h"
#include "results/compare/comparison.h"
#include "results/fairness/judge.h"
#include "results/report/report.h"
#include "results/result_folder.h"

namespace blkfair {

namespace {

namespace fs = std::filesystem;

constexpr size_t kCommitShown = 12;

class BisectCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override;
  int Run() override;

 private:
  Result<LoadedScenario> Load();
  Result<Kernel> Build() const;
  Result<BisectAnswer> Step();
  Result<BisectAnswer> Judged(const LoadedScenario& loaded, const std::vector<Record>& records);
  Result<std::vector<Record>> RunAll(const LoadedScenario& loaded, const Kernel& kernel);

  std::string scenario_;
  std::string tree_ = ".";
  std::string build_;
  std::string against_;
  std::vector<std::string> overrides_;
  std::string time_ = "virtual";
  uint32_t repeat_ = 0;  // 0: as the scenario says, or as many as there are to compare with
  std::string out_;
  bool quiet_ = false;
  std::string commit_;           // or "tree"
  std::string folder_;           // of this step
  std::vector<Record> good_;     // with --against
  uint32_t repeats_before_ = 0;  // those of `good_`: this step draws other random numbers
  std::unique_ptr<ProgressLine> progress_;
};

CLI::App* BisectCommand::AddTo(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bisect-step", "Build a kernel tree, boot and judge it: a step of `git bisect run`");
  command->add_option("SCENARIO", scenario_, "Scenario file")->required();
  command->add_option("--tree", tree_, "The kernel tree, its commit checked out")
      ->capture_default_str();
  command->add_option(
      "--build", build_,
      "Shell command that builds the tree, run in it [make, by its .config or blkfair's]");
  command->add_option("--against", against_,
                      "Result folder of a good kernel: bad is what compares as worse");
  command->add_option("--set", overrides_, "Override a key")->allow_extra_args(false);
  command->add_option("--repeat", repeat_, "Whole runs, judged together")
      ->check(CLI::PositiveNumber);
  command->add_option("--time", time_, "The guest's time: virtual or real")
      ->check(CLI::IsMember({"virtual", "real"}))
      ->capture_default_str();
  command->add_option("--out", out_, "Folder of the steps [blkfair-bisect in the tree]");
  command->add_flag("-q,--quiet", quiet_, "No progress");
  command->footer(
      "Exit codes, as `git bisect run` reads them: 0 good, 1 bad, 125 cannot be tested (does not\n"
      "build, does not boot, inconclusive), 128 bad usage, 129 this machine cannot do it,\n"
      "130 interrupted: from 128 on the bisection stops.");
  return command;
}

std::string CommitOf(const std::string& tree) {
  const auto commit = RunProgram({"git", "-C", tree, "rev-parse", "HEAD"}, "ask for the commit");
  return commit ? commit->substr(0, kCommitShown) : std::string("tree");
}

Result<LoadedScenario> BisectCommand::Load() {
  std::vector<std::string> overrides = overrides_;
  if (!against_.empty()) {
    ASSIGN_OR_RETURN(const ResultFolder folder, ReadResultFolder(against_));
    good_ = folder.records;
    for (const Record& record : good_) {
      repeats_before_ = std::max(repeats_before_, record.repeat);
      if (record.outcome == RunOutcome::kComplete) continue;
      return Fail(ErrorKind::kUsage, fmt::format("--against {}: repeat {} in it is not complete",
                                                 against_, record.repeat));
    }
    if (repeat_ == 0) repeat_ = static_cast<uint32_t>(good_.size());
  }
  if (repeat_ > 0) overrides.push_back(fmt::format("repeat={}", repeat_));
  auto loaded = LoadScenarios({scenario_}, overrides);
  if (!loaded) return Fail(loaded.error());
  if (loaded->size() != 1) return Fail(ErrorKind::kUsage, "bisect-step judges by one scenario");
  const Scenario& scenario = loaded->front().scenario;
  if (IsSimulated(scenario)) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: simulated queues know no kernel", scenario_));
  }
  if (good_.empty()) return std::move(loaded->front());
  ASSIGN_OR_RETURN(Scenario stored, StoredScenario(good_.front(), {}));
  stored.repeat = scenario.repeat;
  if (!(stored == scenario)) {
    return Fail(ErrorKind::kUsage, fmt::format("--against {}: its records are of another scenario "
                                               "than {}, or of other --set",
                                               against_, scenario_));
  }
  return std::move(loaded->front());
}

Result<Kernel> BisectCommand::Build() const {
  BuildWatch watch;
  watch.log_file = folder_ + "/build.log";
  RETURN_IF_ERROR(WriteWholeFile(watch.log_file, ""));
  watch.interrupted = InterruptFlag::Raised;
  watch.progress = [this](const std::string& line) {
    progress_->Show("build " + commit_, RunProgress{line, 0, 0, 0, 0});
  };
  auto kernel = BuildTree(tree_, build_, watch);
  progress_->Clear();
  return kernel;
}

Result<std::vector<Record>> BisectCommand::RunAll(const LoadedScenario& loaded,
                                                  const Kernel& kernel) {
  std::vector<ExecuteTask> tasks;
  for (uint32_t i = 1; i <= loaded.scenario.repeat; i++) {
    ExecuteTask task{&loaded, {}};
    task.options.kernel = kernel;
    task.options.time = time_ == "real" ? GuestTime::kReal : GuestTime::kVirtual;
    task.options.repeat = repeats_before_ + i;
    tasks.push_back(task);
  }
  ResultFolder folder;
  folder.scenario_path = loaded.path;
  folder.repeat_command =
      fmt::format("blkfair run {} --kernel {} --time {} --set repeat={}", ShellQuoted(loaded.path),
                  ShellQuoted(kernel.asked), time_, loaded.scenario.repeat);
  folder.repeat_command += SetOptions(overrides_);
  for (std::optional<Result<Execution>>& execution : ExecuteAll(tasks, progress_.get(), nullptr)) {
    if (!execution) continue;
    if (!*execution) return Fail(execution->error());
    folder.records.push_back(std::move((*execution)->record));
  }
  RETURN_IF_ERROR(WriteResultFolder(folder_, folder));
  return folder.records;
}

Result<BisectAnswer> BisectCommand::Judged(const LoadedScenario& loaded,
                                           const std::vector<Record>& records) {
  if (InterruptFlag::Raised()) return BisectAnswer{kBisectInterrupted, "interrupted"};
  const Judgement judgement = Judge(loaded.scenario, records);
  ReportInput input;
  input.scenario = &loaded.scenario;
  input.records = records;
  input.judgement = &judgement;
  input.results_folder = folder_;
  RETURN_IF_ERROR(WriteWholeFile(folder_ + "/report.txt", TextReport(input, /*colour=*/false)));
  if (good_.empty()) return AnswerByVerdict(judgement, records);
  CompareOptions options;
  options.kernels_differ = true;
  return AnswerByComparison(Compare(loaded.scenario, good_, records, options), records);
}

// What ends in an error stops the bisection; a tree that does not build is an answer.
Result<BisectAnswer> BisectCommand::Step() {
  std::error_code error;
  const fs::path tree = fs::canonical(tree_, error);
  if (error || !fs::is_directory(tree)) {
    return Fail(ErrorKind::kUsage, fmt::format("--tree {}: there is no such folder", tree_));
  }
  tree_ = tree.string();
  ASSIGN_OR_RETURN(const LoadedScenario loaded, Load());
  commit_ = CommitOf(tree_);
  folder_ = fmt::format("{}/{}", out_.empty() ? tree_ + "/blkfair-bisect" : out_, commit_);
  fs::create_directories(folder_, error);
  if (error) return FailErrno(error.value(), fmt::format("make the folder {}", folder_));
  const auto kernel = Build();
  if (!kernel && kernel.error().kind == ErrorKind::kKernel) {
    return BisectAnswer{kBisectSkip, kernel.error().message};
  }
  if (!kernel) return Fail(kernel.error());
  ASSIGN_OR_RETURN(const std::vector<Record> records, RunAll(loaded, *kernel));
  return Judged(loaded, records);
}

int BisectCommand::Run() {
  InterruptFlag::Install();
  progress_ = std::make_unique<ProgressLine>(quiet_);
  const Result<BisectAnswer> answer = Step();
  progress_->Clear();
  if (!answer) {
    fmt::print(stderr, "blkfair: {}\n", answer.error().message);
    return answer.error().kind == ErrorKind::kUsage         ? kBisectUsage
           : answer.error().kind == ErrorKind::kInterrupted ? kBisectInterrupted
                                                            : kBisectError;
  }
  fmt::print("blkfair: {}: {}: {}\n", commit_, BisectWord(answer->exit_code), answer->why);
  return answer->exit_code;
}

}  // namespace

std::unique_ptr<Command> MakeBisectCommand() { return std::make_unique<BisectCommand>(); }

}  // namespace blkfair
