// `git bisect run blkfair bisect-step` on a stand-in for a kernel tree: a file in it says what the
// "build" makes of a commit. The planted commit is found past commits that do not build or boot,
// and what is no answer about a commit never reads as one.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoSmallKernels =
    "no small kernels here: set BLKFAIR_TEST_KERNELS to a folder with stock.bzImage and "
    "nofair.bzImage";

// An image whose header is sound and whose kernel traps at its first instruction: QEMU resets.
std::string TrappingImage(std::string image) {
  constexpr size_t kSetupSects = 0x1f1;  // Documentation/arch/x86/boot.rst
  const size_t kernel = (static_cast<unsigned char>(image.at(kSetupSects)) + 1U) * 512U;
  for (size_t at = kernel; at + 1 < image.size(); at += 2) image.replace(at, 2, "\x0f\x0b");
  return image;
}

class Bisect : public testing::Test {
 protected:
  void SetUp() override {
    if (SmallKernel("stock").empty() || SmallKernel("nofair").empty()) {
      GTEST_SKIP() << kNoSmallKernels;
    }
    std::string name = testing::TempDir() + "/blkfair-bisect-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    const auto stock = ReadWholeFile(SmallKernel("stock"));
    ASSERT_TRUE(stock);
    ASSERT_TRUE(WriteWholeFile(folder_ + "/traps.bzImage", TrappingImage(*stock)));
    fs::create_directories(folder_ + "/tree");
    Write(".gitignore", "/arch\n/blkfair-bisect\n");
    Write("build.sh",
          "#!/bin/sh\nset -e\nmkdir -p arch/x86/boot\n"
          "case $(cat fairness) in\n"
          "  kept*) from='" +
              SmallKernel("stock") +
              "' ;;\n"
              "  removed*) from='" +
              SmallKernel("nofair") +
              "' ;;\n"
              "  traps*) from='" +
              folder_ +
              "/traps.bzImage' ;;\n"
              "  *) echo 'block/blk-mq.h:1:1: error: expected expression'; exit 2 ;;\n"
              "esac\ncp \"$from\" arch/x86/boot/bzImage\n");
    ASSERT_EQ(InTree("git -c init.defaultBranch=main init -q && git config user.name Test && "
                     "git config user.email test@example.com && git add -A"),
              0);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(WriteWholeFile(folder_ + "/tree/" + name, text));
  }
  // The exit code; what was printed goes to output().
  int InTree(const std::string& command) const {
    const int status =
        std::system(("cd '" + folder_ + "/tree' && export XDG_STATE_HOME='" + folder_ +
                     "/state' && { " + command + "; } > '" + folder_ + "/output' 2>&1")
                        .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Output() const { return ReadWholeFile(folder_ + "/output").value_or(""); }
  bool Says(const std::string& text) const { return Output().find(text) != std::string::npos; }
  // A commit with that in the file; its hash.
  std::string Commit(int number, const std::string& fairness) const {
    const std::string label = std::to_string(number);
    Write("fairness", fairness + " " + label + "\n");
    EXPECT_EQ(InTree("git add -A && git commit -q -m 'commit " + label + "'"), 0) << Output();
    EXPECT_EQ(InTree("git rev-parse HEAD"), 0);
    return Output().substr(0, 40);
  }
  static std::string Step(const std::string& arguments) {
    return "'" BLKFAIR_EXECUTABLE "' bisect-step -q '" BLKFAIR_SOURCE_DIR
           "/scenarios/lopsided_null_blk.toml' " +
           arguments;
  }

  std::string folder_;
};

TEST_F(Bisect, FindsThePlantedCommitPastThoseThatCannotBeTested) {
  // git tests the one in the middle first, and which comes next then hangs on the hashes.
  const std::vector<std::string> history = {"kept",    "kept",   "removed", "removed", "traps",
                                            "removed", "broken", "removed", "removed"};
  std::vector<std::string> commits;
  for (size_t i = 0; i < history.size(); i++) {
    commits.push_back(Commit(static_cast<int>(i), history[i]));
  }
  ASSERT_EQ(InTree("git bisect start '" + commits.back() + "' '" + commits.front() + "'"), 0);
  const int code = InTree("git bisect run " + Step("--build 'sh build.sh'"));
  const std::string output = Output();
  EXPECT_EQ(code, 0) << output;
  EXPECT_TRUE(Says(commits[2] + " is the first bad commit")) << output;
  EXPECT_TRUE(Says("skip: the guest died")) << output;
  EXPECT_TRUE(Says("bad: heavy_share fail")) << output;

  Commit(9, "broken");
  EXPECT_EQ(InTree(Step("--build 'sh build.sh'")), 125) << Output();
  EXPECT_TRUE(Says("skip: build the tree: block/blk-mq.h:1:1: error: expected expression"))
      << Output();
}

TEST_F(Bisect, AgainstRecordsOfAGoodKernelWorseIsBad) {
  Commit(0, "kept");
  const std::string scenario = BLKFAIR_SOURCE_DIR "/scenarios/lopsided_null_blk.toml";
  // Its own verdict does not matter here: it is something to compare with. Six, since the p99 of
  // three may be too few to be called equivalent.
  const int good = InTree("'" BLKFAIR_EXECUTABLE "' run -q '" + scenario + "' --kernel '" +
                          SmallKernel("stock") + "' --time virtual --repeat 6 --out ../good");
  ASSERT_TRUE(good == 0 || good == 4) << Output();
  const std::string step = Step("--build 'sh build.sh' --against ../good");
  EXPECT_EQ(InTree(step), 0) << Output();
  EXPECT_TRUE(Says("light iops equivalent")) << Output();
  Commit(1, "removed");
  EXPECT_EQ(InTree(step), 1) << Output();
  EXPECT_TRUE(Says("light iops worse")) << Output();
  EXPECT_EQ(InTree(step + " --set job.heavy.iodepth=64"), 128) << Output();
}

TEST_F(Bisect, WhatIsNoAnswerStopsTheBisection) {
  Commit(0, "kept");
  const std::string build = "--build 'sh build.sh' ";
  EXPECT_EQ(InTree(Step(build + "--no-such-option")), 128) << Output();
  EXPECT_EQ(InTree("'" BLKFAIR_EXECUTABLE "' --wrong bisect-step"), 128) << Output();
  EXPECT_EQ(InTree("'" BLKFAIR_EXECUTABLE "' bisect-step no-such-file.toml"), 128) << Output();
  EXPECT_EQ(InTree(Step("--tree no-such-folder")), 128) << Output();
  EXPECT_EQ(InTree(Step(build + "--against no-such-folder")), 128) << Output();
  EXPECT_EQ(InTree(Step(build + "--set job.heavy.iodepth=none")), 128) << Output();
  EXPECT_EQ(InTree(Step("")), 128) << Output();
  EXPECT_TRUE(Says("no kernel tree")) << Output();
  EXPECT_EQ(InTree(Step("--build no-such-program")), 129) << Output();
  EXPECT_EQ(InTree(Step("--build true")), 128) << Output();
  EXPECT_TRUE(Says("left no arch/x86/boot/bzImage")) << Output();
  EXPECT_EQ(InTree("PATH=/nowhere " + Step(build)), 129) << Output();
}

}  // namespace
}  // namespace blkfair::testing_support
