#include <fmt/format.h>

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/report_output.h"
#include "harness/cli/scenario_files.h"
#include "harness/cli/shell.h"
#include "results/fairness/judge.h"
#include "results/report/report.h"
#include "results/result_folder.h"

namespace blkfair {

namespace {

// Reads back the scenario that the records carry. With overrides (other bounds for the same
// measurement) the records are judged by what they were not run with, so only assertions may
// change.
Result<Scenario> ScenarioOf(const ResultFolder& folder, const std::vector<std::string>& overrides) {
  for (const std::string& override_text : overrides) {
    if (!override_text.starts_with("assert.")) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("--set {}: stored records can be judged by other assertions only "
                              "(assert.NAME.KEY=VALUE)",
                              override_text));
    }
  }
  const Record& first = folder.records.front();
  for (const Record& record : folder.records) {
    if (record.scenario_hash != first.scenario_hash) {
      return Fail(ErrorKind::kUsage, "the records are of different scenarios");
    }
  }
  return StoredScenario(first, overrides);
}

// `judge` and `show`: read a result folder, judge it, report it. `show` exits 0 whatever the
// verdict.
class StoredCommand final : public Command {
 public:
  explicit StoredCommand(bool judges) : judges_(judges) {}

  CLI::App* AddTo(CLI::App& app) override {
    CLI::App* command =
        judges_ ? app.add_subcommand("judge",
                                     "Judge stored records again: the verdict is the exit code")
                : app.add_subcommand("show", "Show stored records as a report");
    command->add_option("RESULTS", paths_, "Result folders, or record files")->required();
    if (judges_) {
      command->add_option("--set", overrides_, "Judge by another bound: assert.light.max=1.5")
          ->allow_extra_args(false);
    }
    output_.AddOptions(command);
    return command;
  }

  int Run() override {
    std::vector<int> codes;
    for (const std::string& path : paths_) {
      const auto code = One(path);
      if (!code) {
        fmt::print(stderr, "blkfair: {}\n", code.error().message);
        return ExitCodeOf(code.error().kind);
      }
      codes.push_back(*code);
    }
    output_.Finish(paths_.size() > 1, /*summary=*/false);
    return judges_ ? CombineExitCodes(codes) : kExitPass;
  }

 private:
  Result<int> One(const std::string& path) {
    ASSIGN_OR_RETURN(const ResultFolder folder, ReadResultFolder(path));
    ASSIGN_OR_RETURN(const Scenario scenario, ScenarioOf(folder, overrides_));
    const Judgement judgement = Judge(scenario, folder.records);
    ReportInput input;
    input.scenario = &scenario;
    input.records = folder.records;
    input.judgement = &judgement;
    // By other bounds than the run's own only `judge` itself comes to the same verdict again.
    input.repeat_command = overrides_.empty()
                               ? folder.repeat_command
                               : "blkfair judge " + ShellQuoted(path) + SetOptions(overrides_);
    input.results_folder = path;
    return output_.Add(input).exit_code;
  }

  bool judges_;
  std::vector<std::string> paths_;
  std::vector<std::string> overrides_;
  ReportOutput output_;
};

}  // namespace

std::unique_ptr<Command> MakeJudgeCommand() { return std::make_unique<StoredCommand>(true); }
std::unique_ptr<Command> MakeShowCommand() { return std::make_unique<StoredCommand>(false); }

}  // namespace blkfair
