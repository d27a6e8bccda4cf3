#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/kernel_fs.h"
#include "harness/cli/command.h"
#include "harness/cli/execute.h"
#include "harness/cli/exit_codes.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"

namespace blkfair {

namespace {

class CleanCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override {
    return app.add_subcommand(
        "clean", "Undo what killed runs left behind: what their journals list, and nothing else");
  }

  int Run() override {
    KernelFs fs(KernelRoots::Real());
    KmodModuleLoader modules;
    const CleanReport report = UndoJournals(
        JournalDir(), fs, modules, [](const std::string& line) { fmt::print("{}\n", line); });
    for (const std::string& failure : report.failures) fmt::print(stderr, "blkfair: {}\n", failure);
    fmt::print("{} journals undone, {} operations; {} runs are still going on\n",
               report.journals_undone, report.operations_undone, report.journals_live);
    return report.ok() ? kExitPass : kExitError;
  }
};

}  // namespace

std::unique_ptr<Command> MakeCleanCommand() { return std::make_unique<CleanCommand>(); }

}  // namespace blkfair
