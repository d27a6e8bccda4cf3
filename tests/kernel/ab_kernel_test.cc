// `blkfair ab` on real kernels: removal of the fair sharing of tags is found, and a kernel compared
// with itself is equivalent.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "results/record_json.h"
#include "results/result_folder.h"
#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

namespace fs = std::filesystem;

struct AbOutcome {
  int exit_code = -1;
  std::string report;
};

AbOutcome RunAb(const std::string& a, const std::string& b) {
  std::string folder = testing::TempDir() + "/blkfair-ab-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string command =
      "XDG_STATE_HOME='" + folder + "/state' '" BLKFAIR_EXECUTABLE "' ab -q --json --kernel '" + a +
      "' --kernel '" + b + "' '" BLKFAIR_SOURCE_DIR "/scenarios/lopsided_null_blk.toml' --out '" +
      folder + "/out' > '" + folder + "/report' 2>&1";
  const int status = std::system(command.c_str());
  AbOutcome outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (const auto report = ReadWholeFile(folder + "/report")) outcome.report = *report;
  fs::remove_all(folder);
  return outcome;
}

bool Says(const AbOutcome& outcome, const std::string& text) {
  return outcome.report.find(text) != std::string::npos;
}

TEST(Ab, FindsThatFairnessWasRemoved) {
  if (SmallKernel("nofair").empty()) GTEST_SKIP() << "no small kernels here: BLKFAIR_TEST_KERNELS";
  const AbOutcome outcome = RunAb(SmallKernel("stock"), SmallKernel("nofair"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.report;
  // 907 to about 200: -78 %, give or take a few from build to build.
  EXPECT_TRUE(Says(outcome, "light iops worse (-7") || Says(outcome, "light iops worse (-8"))
      << outcome.report;
  EXPECT_TRUE(Says(outcome, "light lat_p99 worse")) << outcome.report;
  EXPECT_TRUE(Says(outcome, "heavy iops better (+9")) << outcome.report;
}

TEST(Ab, AKernelIsEquivalentToItself) {
  const std::string kernel = SmallKernel("stock").empty() ? "debian:6.12" : SmallKernel("stock");
  const AbOutcome outcome = RunAb(kernel, kernel);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.report;
  for (const char* what : {"light iops equivalent", "heavy iops equivalent"}) {
    EXPECT_TRUE(Says(outcome, what)) << outcome.report;
  }
}

// --- kill and resume ---

class KilledAb : public ::testing::Test {
 protected:
  KilledAb() {
    root_ = testing::TempDir() + "/blkfair-ab-XXXXXX";
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
  }
  ~KilledAb() override { fs::remove_all(root_); }

  pid_t Start(const std::string& out, bool resume) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::setenv("XDG_STATE_HOME", (root_ + "/state").c_str(), 1);
    const std::string kernel = SmallKernel("stock").empty() ? "debian:6.12" : SmallKernel("stock");
    std::vector<std::string> words = {"blkfair",
                                      "ab",
                                      "-q",
                                      "--kernel",
                                      kernel,
                                      "--set-a",
                                      "job.heavy.iodepth=256",
                                      "--set-b",
                                      "job.heavy.iodepth=32",
                                      "--set",
                                      "phase.contention.runtime=2s",
                                      "--repeat",
                                      "2",
                                      BLKFAIR_SOURCE_DIR "/scenarios/lopsided_null_blk.toml",
                                      "--out",
                                      root_ + "/" + out};
    if (resume) words.emplace_back("--resume");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const auto said = OpenFile(root_ + "/" + out + ".said", O_WRONLY | O_CREAT | O_TRUNC);
    if (!said || ::dup2(said->get(), STDOUT_FILENO) < 0 || ::dup2(said->get(), STDERR_FILENO) < 0) {
      ::_exit(126);
    }
    ::execv(BLKFAIR_EXECUTABLE, argv.data());
    ::_exit(127);
  }
  std::string Said(const std::string& out) const {
    return ReadWholeFile(root_ + "/" + out + ".said").value_or(std::string());
  }
  static int ExitCode(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Whole records only: those that their manifest names.
  std::map<std::string, Record> Records(const std::string& out) const {
    std::map<std::string, Record> records;
    for (const char* side : {"/a", "/b"}) {
      const Result<ResultFolder> folder = ReadResultFolder(root_ + "/" + out + side);
      if (!folder) continue;
      for (const Record& record : folder->records) {
        records[side + std::string(" ") + std::to_string(record.repeat)] = record;
      }
    }
    return records;
  }

  std::string root_;
};

TEST_F(KilledAb, IsTakenUpWithoutBootingAgainWhatWasFinished) {
  const int whole = ExitCode(Start("whole", false));
  const pid_t pid = Start("killed", false);
  while (Records("killed").empty() && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  const std::map<std::string, Record> before = Records("killed");
  ASSERT_GE(before.size(), 1U) << Said("killed");
  ASSERT_LT(before.size(), 4U) << "it was over before it was killed";
  EXPECT_EQ(ExitCode(Start("killed", true)), whole) << Said("killed");
  const std::map<std::string, Record> after = Records("killed");
  EXPECT_EQ(after.size(), 4U);
  // Host part included, which says when and how long each ran.
  for (const auto& [name, record] : before) {
    EXPECT_EQ(RecordToJson(after.at(name), true), RecordToJson(record, true)) << name;
  }
  for (const auto& [name, record] : Records("whole")) {
    EXPECT_EQ(ComparableJson(after.at(name)), ComparableJson(record)) << name;
  }
  EXPECT_EQ(Said("killed"), Said("whole"));
}

}  // namespace
}  // namespace blkfair::testing_support
