#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/kernels/bisect.h"
#include "harness/run/version.h"

namespace blkfair {
namespace {

constexpr std::array kCommands = {MakeRunCommand,    MakeAbCommand,     MakeCompareCommand,
                                  MakeJudgeCommand,  MakeCheckCommand,  MakeListCommand,
                                  MakeShowCommand,   MakeCleanCommand,  MakeSelftestCommand,
                                  MakeBisectCommand, MakeKernelCommand, MakeMatrixCommand};

constexpr const char* kFooter =
    "Exit codes: 0 pass, 1 fail, 2 bad usage or scenario, 3 error, 4 inconclusive,\n"
    "77 requirement unmet, 130 interrupted.\n"
    "`blkfair COMMAND --help` tells more; `man blkfair` tells all.";

// `git bisect run` takes almost every exit code for "bad": there an argument that is wrong, or an
// internal error, has codes of its own.
bool IsBisectStep(int argc, char** argv) {
  return std::any_of(argv + 1, argv + std::max(argc, 1),
                     [](const char* word) { return std::string_view(word) == "bisect-step"; });
}

// What stands where a command should and is none, and which there are. CLI11 would only say that
// one is missing.
std::optional<std::string> NoSuchCommand(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; i++) {
    if (std::string_view(argv[i]).starts_with('-')) return std::nullopt;
    const CLI::App* next = nullptr;
    std::vector<std::string> names;
    for (const CLI::App* known : at->get_subcommands({})) {
      if (known->check_name(argv[i])) next = known;
      names.push_back(known->get_name());
    }
    if (next == nullptr) {
      return fmt::format("{} has no command '{}'; it has {}", at->get_name(), argv[i],
                         fmt::join(names, ", "));
    }
    at = next;
  }
  return std::nullopt;
}

int Main(int argc, char** argv) {
  CLI::App app{"blkfair: does each queue of a shared tag set still get what it should?", "blkfair"};
  app.set_version_flag("--version", fmt::format("blkfair {}", kVersion));
  app.footer(kFooter);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("blkfair: {}\n`blkfair help` tells more.\n", error.what());
  });
  std::vector<std::pair<std::unique_ptr<Command>, CLI::App*>> commands;
  for (const auto make : kCommands) {
    auto command = make();
    CLI::App* parser = command->AddTo(app);
    commands.emplace_back(std::move(command), parser);
  }
  if (argc == 2 && std::string_view(argv[1]) == "help") {
    fmt::print("{}", app.help());
    return kExitPass;
  }
  const int usage = IsBisectStep(argc, argv) ? kBisectUsage : kExitUsage;
  if (const auto none = NoSuchCommand(app, argc, argv)) {
    fmt::print(stderr, "blkfair: {}\n", *none);
    return usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitPass : usage;
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
    const int code = blkfair::Main(argc, argv);
    // What was printed into a full disk or a closed descriptor was not printed.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "blkfair: write to standard output: {}\n", std::strerror(errno));
  } catch (const std::system_error& error) {  // fmt's, when stdout takes no more
    fmt::print(stderr, "blkfair: write to standard output: {}\n", error.code().message());
  } catch (const std::exception& error) {
    fmt::print(stderr, "blkfair: internal error: {}\n", error.what());
  }
  return blkfair::IsBisectStep(argc, argv) ? blkfair::kBisectError : blkfair::kExitError;
}
