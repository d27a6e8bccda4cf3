// `blkfair run` and `judge` as a user calls them, on simulated queues: reports for machines, and
// words on the command line that mean nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace blkfair {
namespace {

struct Called {
  int code = -1;
  std::string output;  // standard output and standard error
};

class RunCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blkfair-run-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Called Call(const std::string& words) const {
    Called called;
    const std::string command =
        "cd '" + folder_ + "' && '" BLKFAIR_EXECUTABLE "' " + words + " 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return called;
    std::array<char, 4096> chunk;
    for (size_t got; (got = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
      called.output.append(chunk.data(), got);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) called.code = WEXITSTATUS(status);
    return called;
  }

  const std::string smoke_ = "'" BLKFAIR_SOURCE_DIR "/scenarios/smoke_sim.toml'";
  std::string folder_;
};

TEST_F(RunCommandTest, WhatIsNoCommandIsNamed) {
  for (const char* words : {"foo", "foo --help", "kernel foo"}) {
    const Called called = Call(words);
    EXPECT_EQ(called.code, 2) << called.output;
    EXPECT_NE(called.output.find("has no command 'foo'; it has "), std::string::npos)
        << called.output;
  }
  // `git bisect run` would take 2 for "bad".
  EXPECT_EQ(Call("foo bisect-step").code, 128);
  EXPECT_EQ(Call("help").code, 0);
  EXPECT_EQ(Call("--version").code, 0);
}

TEST_F(RunCommandTest, RepeatsAreWithinTheirRange) {
  const Called none = Call("run --repeat 0 " + smoke_);
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.output.find("not in range 1 to 1000"), std::string::npos) << none.output;
  const Called beyond = Call("run -q --repeat 3 --only-repeat 5 " + smoke_);
  EXPECT_EQ(beyond.code, 2);
  EXPECT_NE(beyond.output.find("smoke_sim has 3 repeats"), std::string::npos) << beyond.output;
  EXPECT_EQ(Call("run -q --only-repeat 5 " + smoke_).code, 0);
}

TEST_F(RunCommandTest, ReportsForMachinesAreOneDocument) {
  const Called ktap = Call("run -q --report ktap --out a " + smoke_);
  EXPECT_EQ(ktap.code, 0) << ktap.output;
  EXPECT_TRUE(ktap.output.starts_with("KTAP version 1\n1..1\n")) << ktap.output;
  EXPECT_TRUE(ktap.output.ends_with("\nok 1 smoke_sim\n")) << ktap.output;

  const Called judged = Call("judge --report ktap a a --set assert.light_rate.max=0.1");
  EXPECT_EQ(judged.code, 1) << judged.output;
  EXPECT_TRUE(judged.output.starts_with("KTAP version 1\n1..2\n")) << judged.output;
  EXPECT_NE(judged.output.find("\nnot ok 2 smoke_sim\n"), std::string::npos) << judged.output;

  const Called junit = Call("show --report junit a");
  EXPECT_EQ(junit.code, 0) << junit.output;
  EXPECT_TRUE(junit.output.starts_with("<?xml version=\"1.0\"")) << junit.output;
  EXPECT_TRUE(junit.output.ends_with("</testsuites>\n")) << junit.output;
  EXPECT_EQ(Call("show --json --report ktap a").code, 2) << "one or the other";
}

}  // namespace
}  // namespace blkfair
