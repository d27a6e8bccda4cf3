// `blkfair run` stopped at random moments by INT, TERM and KILL: no QEMU is left, nothing is left
// outside the result folder, and what a KILL leaves is undone by `blkfair clean`. The number of
// moments per signal is BLKFAIR_KILL_ROUNDS.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kRoundsDefault = 4;
constexpr int kLatestMs = 9000;  // a run on the small kernel takes about that long

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A user's home, state, temporary and working folders, all below one of ours.
class Sandbox {
 public:
  Sandbox() {
    std::string name = testing::TempDir() + "/bf-kill-test-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    for (const char* part : {"tmp", "state", "cwd"}) fs::create_directories(root_ / part);
  }
  ~Sandbox() { fs::remove_all(root_); }

  // Starts blkfair with these arguments; its output goes to out().
  pid_t Start(const std::vector<std::string>& arguments) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setenv("TMPDIR", (root_ / "tmp").c_str(), 1);
    ::setenv("XDG_STATE_HOME", (root_ / "state").c_str(), 1);
    const int out = ::open((root_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::chdir((root_ / "cwd").c_str()) != 0) ::_exit(126);
    std::vector<char*> argv = {const_cast<char*>(BLKFAIR_EXECUTABLE)};
    for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(BLKFAIR_EXECUTABLE, argv.data());
    ::_exit(127);
  }

  std::string Out() const { return ReadFile(root_ / "out"); }

  // Everything in a folder of the sandbox, for comparing with nothing.
  std::vector<std::string> Left(const std::string& part) const {
    std::vector<std::string> left;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / part)) {
      if (!entry.is_directory()) left.push_back(entry.path().lexically_relative(root_));
    }
    return left;
  }
  bool NoFolderIn(const std::string& part) const { return fs::is_empty(root_ / part); }

  // QEMU processes that name a file of this sandbox.
  int QemusLeft() const {
    int found = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string line = ReadFile(entry.path() / "cmdline");
      if (line.find("qemu-system") != std::string::npos &&
          line.find(root_.string()) != std::string::npos) {
        found++;
      }
    }
    return found;
  }
  bool QemusGoWithin(milliseconds limit) const {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (QemusLeft() > 0) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return true;
  }

 private:
  fs::path root_;
};

int WaitFor(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

// What was measured so far, marked partial; or that it was nothing.
bool SaysPartial(const std::string& out) {
  return out.find("Partial  ") != std::string::npos ||
         out.find("Measured     nothing") != std::string::npos ||
         out.find("interrupted before anything was measured") != std::string::npos;
}

int Rounds() {
  const char* rounds = std::getenv("BLKFAIR_KILL_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : kRoundsDefault;
}

class Stopped : public testing::TestWithParam<int> {
 protected:
  void Round(milliseconds delay) {
    const Sandbox sandbox;
    const std::string small = SmallKernel("stock");
    const pid_t pid = sandbox.Start({"run", BLKFAIR_SOURCE_DIR "/scenarios/lopsided_null_blk.toml",
                                     "--kernel", small.empty() ? "debian:6.12" : small});
    std::this_thread::sleep_for(delay);
    ::kill(pid, GetParam());
    const int status = WaitFor(pid);
    EXPECT_TRUE(sandbox.QemusGoWithin(milliseconds(3000)));
    if (GetParam() == SIGKILL) {
      const int cleaned = WaitFor(sandbox.Start({"clean"}));
      EXPECT_TRUE(WIFEXITED(cleaned) && WEXITSTATUS(cleaned) == 0) << sandbox.Out();
    } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
      // Exit 0: the run was over before the signal came.
      EXPECT_EQ(WEXITSTATUS(status), 130) << sandbox.Out();
      EXPECT_TRUE(SaysPartial(sandbox.Out())) << sandbox.Out();
    } else if (WIFSIGNALED(status)) {
      // The signal came before the program had got as far as looking at its arguments.
      EXPECT_TRUE(sandbox.Out().empty()) << sandbox.Out();
    }
    EXPECT_EQ(sandbox.Left("state"), std::vector<std::string>());
    EXPECT_TRUE(sandbox.NoFolderIn("tmp"));
    for (const std::string& file : sandbox.Left("cwd")) {
      EXPECT_TRUE(file.starts_with("cwd/blkfair-results/")) << file;
    }
  }
};

TEST_P(Stopped, LeavesNothingBehind) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::uniform_int_distribution<int> delay_ms(0, kLatestMs);
  for (int i = 0; i < Rounds(); i++) {
    const milliseconds delay(delay_ms(random));
    SCOPED_TRACE("after " + std::to_string(delay.count()) + " ms");
    Round(delay);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Signals, Stopped, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto& param) {
                           return param.param == SIGINT    ? "Int"
                                  : param.param == SIGTERM ? "Term"
                                                           : "Kill";
                         });

}  // namespace
}  // namespace blkfair::testing_support
