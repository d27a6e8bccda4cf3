// `blkfair compare`: what `ab` concludes, from stored records.
#include <fmt/format.h>

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/scenario_files.h"
#include "harness/cli/shell.h"
#include "results/compare/comparison.h"
#include "results/report/comparison_report.h"
#include "results/result_folder.h"

namespace blkfair {

namespace {

class CompareCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("compare", "Compare two result folders: worse, better or equivalent");
    command->add_option("A", a_, "Result folder of one side")->required();
    command->add_option("B", b_, "Result folder of the other")->required();
    command->add_option("--differ", declared_, "A key that may differ: fixture.pair.scheduler")
        ->allow_extra_args(false);
    command->add_flag("--kernels-differ", kernels_differ_, "The kernels may differ");
    command->add_flag("--force", force_, "Compare although they differ elsewhere; name where");
    command->add_flag("--json", json_, "One JSON document instead of the mail report");
    return command;
  }

  int Run() override {
    const Result<int> code = Compare();
    if (code) return *code;
    fmt::print(stderr, "blkfair: {}\n", code.error().message);
    return ExitCodeOf(code.error().kind);
  }

 private:
  Result<int> Compare() const {
    ASSIGN_OR_RETURN(const ResultFolder a, ReadResultFolder(a_));
    ASSIGN_OR_RETURN(const ResultFolder b, ReadResultFolder(b_));
    ASSIGN_OR_RETURN(const Scenario scenario, StoredScenario(a.records.front(), {}));
    CompareOptions options;
    options.declared = declared_;
    options.kernels_differ = kernels_differ_;
    options.force = force_;
    const Comparison comparison = blkfair::Compare(scenario, a.records, b.records, options);
    ComparisonReportInput input;
    input.scenario = &scenario;
    input.a = {a_, a.records};
    input.b = {b_, b.records};
    input.comparison = &comparison;
    input.command = fmt::format("blkfair compare {} {}", ShellQuoted(a_), ShellQuoted(b_));
    fmt::print("{}", json_ ? ComparisonJson(input) : MailReport(input));
    return comparison.exit_code;
  }

  std::string a_;
  std::string b_;
  std::vector<std::string> declared_;
  bool kernels_differ_ = false;
  bool force_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace blkfair
