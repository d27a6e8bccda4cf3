// `blkfair ab` on real kernels: removal of the fair sharing of tags is found, and a kernel compared
// with itself is equivalent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fd.h"
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

}  // namespace
}  // namespace blkfair::testing_support
