#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/scenario_files.h"

namespace blkfair {

namespace {

class CheckCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("check", "Check scenarios; touch nothing");
    command->add_option("SCENARIO", scenarios_, "Scenario files, or folders of them")->required();
    command->add_option("--set", overrides_, "Override a key: job.heavy.iodepth=64")
        ->allow_extra_args(false);
    command->add_flag("--canonical", canonical_,
                      "Print each scenario with every default filled in, and its hash");
    return command;
  }

  int Run() override {
    const auto loaded = LoadScenarios(scenarios_, overrides_);
    if (!loaded) return kExitUsage;
    for (const LoadedScenario& row : *loaded) {
      if (canonical_) {
        fmt::print("# {}  sha256 {}\n{}", row.path, row.hash, row.canonical_toml);
      } else {
        fmt::print("{}: ok: {} fixtures, {} jobs, {} phases, {} assertions\n", row.path,
                   row.scenario.fixtures.size(), row.scenario.jobs.size(),
                   row.scenario.phases.size(), row.scenario.asserts.size());
      }
    }
    return kExitPass;
  }

 private:
  std::vector<std::string> scenarios_;
  std::vector<std::string> overrides_;
  bool canonical_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() { return std::make_unique<CheckCommand>(); }

}  // namespace blkfair
