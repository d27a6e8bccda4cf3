// A subcommand of blkfair: one file each, one row in the table of main.cc. Owned by main.
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace blkfair {

class Command {
 public:
  virtual ~Command() = default;
  // Adds the subcommand with its options, which are members of this object, to `app`.
  virtual CLI::App* AddTo(CLI::App& app) = 0;
  // Called when it was chosen; returns the exit code (design section 5).
  virtual int Run() = 0;
};

std::unique_ptr<Command> MakeRunCommand();
std::unique_ptr<Command> MakeAbCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeCheckCommand();
std::unique_ptr<Command> MakeJudgeCommand();
std::unique_ptr<Command> MakeShowCommand();
std::unique_ptr<Command> MakeListCommand();
std::unique_ptr<Command> MakeCleanCommand();
std::unique_ptr<Command> MakeSelftestCommand();
std::unique_ptr<Command> MakeBisectCommand();
std::unique_ptr<Command> MakeKernelCommand();
std::unique_ptr<Command> MakeMatrixCommand();

}  // namespace blkfair
