#include <fmt/format.h>

#include <array>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/run/version.h"

namespace blkfair {
namespace {

constexpr std::array kCommands = {MakeRunCommand,   MakeAbCommand,    MakeCompareCommand,
                                  MakeJudgeCommand, MakeCheckCommand, MakeListCommand,
                                  MakeShowCommand,  MakeCleanCommand};

constexpr const char* kFooter =
    "Exit codes: 0 pass, 1 fail, 2 bad usage or scenario, 3 error, 4 inconclusive,\n"
    "77 requirement unmet, 130 interrupted.\n"
    "`blkfair COMMAND --help` tells more; `man blkfair` tells all.";

int Main(int argc, char** argv) {
  CLI::App app{"blkfair: does each queue of a shared tag set still get what it should?", "blkfair"};
  app.set_version_flag("--version", fmt::format("blkfair {}", kVersion));
  app.footer(kFooter);
  app.require_subcommand(1);
  std::vector<std::pair<std::unique_ptr<Command>, CLI::App*>> commands;
  for (const auto make : kCommands) {
    auto command = make();
    CLI::App* parser = command->AddTo(app);
    commands.emplace_back(std::move(command), parser);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitPass : kExitUsage;
  }
  for (const auto& [command, parser] : commands) {
    if (parser->parsed()) return command->Run();
  }
  return kExitUsage;
}

}  // namespace
}  // namespace blkfair

int main(int argc, char** argv) {
  try {
    return blkfair::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "blkfair: internal error: {}\n", error.what());
    return blkfair::kExitError;
  }
}
