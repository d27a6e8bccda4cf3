// From Debian's source to a verdict: a kernel built from nothing passes the lopsided pair, and
// fails it once its fairness is edited away, after an incremental rebuild. Takes up to an hour:
// runs only with BLKFAIR_KERNEL_BUILD=1 (and the edit, remove-fairness.sh, in
// BLKFAIR_TEST_KERNELS).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "kernel-build-test";

std::string EditScript() {
  const char* folder = std::getenv("BLKFAIR_TEST_KERNELS");
  return (folder != nullptr ? std::string(folder) : BLKFAIR_SOURCE_DIR "/../shared/kernels") +
         "/remove-fairness.sh";
}

int RunBlkfair(const std::string& arguments) {
  const auto began = std::chrono::steady_clock::now();
  const int status = std::system(("nice '" BLKFAIR_EXECUTABLE "' " + arguments).c_str());
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf(
      "%lld s: blkfair %s\n",
      static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(took).count()),
      arguments.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(KernelBuild, FromNothingItPassesAndWithoutFairnessItFails) {
  if (std::getenv("BLKFAIR_KERNEL_BUILD") == nullptr) {
    GTEST_SKIP() << "builds a kernel, which takes long: set BLKFAIR_KERNEL_BUILD=1 to run it";
  }
  if (!fs::exists(EditScript())) {
    GTEST_SKIP() << "no remove-fairness.sh here: set BLKFAIR_TEST_KERNELS to a folder with it";
  }
  std::string out = testing::TempDir() + "/blkfair-kernel-build-XXXXXX";
  ASSERT_NE(::mkdtemp(out.data()), nullptr);
  const std::string build = std::string("kernel build --source debian:6.12 --name ") + kName;
  const std::string run = "run -q '" BLKFAIR_SOURCE_DIR
                          "/scenarios/lopsided_null_blk.toml' --time virtual --kernel " +
                          std::string(kName) + " --out " + out;
  RunBlkfair(std::string("kernel remove ") + kName);
  ASSERT_EQ(RunBlkfair(build), 0);
  EXPECT_EQ(RunBlkfair(run + "/fair"), 0);
  ASSERT_EQ(RunBlkfair(build + " --edit '" + EditScript() + "'"), 0);
  EXPECT_EQ(RunBlkfair(run + "/unfair"), 1);
  EXPECT_EQ(RunBlkfair(std::string("kernel remove ") + kName), 0);
  fs::remove_all(out);
}

}  // namespace
}  // namespace blkfair
