// The host executor, on a kernel that may be changed: the whole of blkfair runs inside a guest, as
// root, on that guest's own null_blk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/guest/command.h"
#include "harness/guest/guest.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

// Short phases, still long enough for every assertion.
constexpr const char* kBrief =
    " --set phase.solo_light.runtime=2s --set phase.solo_heavy.runtime=2s"
    " --set phase.contention.runtime=3s --set assert.light_p99.metric=lat_p95";

GuestCommandOutcome RunShell(const std::string& script, const std::vector<std::string>& modules) {
  std::string folder = testing::TempDir() + "/blkfair-host-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  GuestOptions options;
  const auto kernel = ResolveKernel("debian:6.12", [](const std::string&) {});
  EXPECT_TRUE(kernel) << kernel.error().message;
  if (!kernel) return {};
  options.kernel = *kernel;
  options.init_executable = BLKFAIR_GUEST_INIT;
  options.work_folder = folder;
  options.console_file = folder + "/console.log";
  GuestCommand command;
  command.argv = {"/bin/sh", "-c", "export HOME=/ PATH=/bin; cd /tmp; " + script};
  for (const char* program : {"/bin/sh", "/bin/sleep", "/bin/ls", "/bin/cat"}) {
    command.files.push_back({program, program});
  }
  command.files.push_back({BLKFAIR_EXECUTABLE, "/bin/blkfair"});
  command.files.push_back(
      {BLKFAIR_SOURCE_DIR "/scenarios/lopsided_null_blk.toml", "/lopsided.toml"});
  command.modules = modules;
  const auto outcome = RunCommandInGuest(command, options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  fs::remove_all(folder);
  return outcome ? *outcome : GuestCommandOutcome{};
}

TEST(HostExecutor, RunsTheSameScenarioAndPutsEverythingBack) {
  const auto outcome = RunShell(
      std::string("blkfair run --on host /lopsided.toml") + kBrief +
          "; code=$?; echo left: $(ls /sys/kernel/config/nullb) $(ls -d /sys/module/null_blk) "
          "$(ls /.local/state/blkfair/journals); exit $code",
      {"configfs", "null_blk"});
  EXPECT_EQ(outcome.status, "exit 0") << outcome.why << outcome.output;
  EXPECT_NE(outcome.output.find("Outcome      pass"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("left:\n"), std::string::npos)
      << "null_blk must be unloaded and the journal gone: " << outcome.output;
}

TEST(HostExecutor, SkipsNamingWhatIsMissing) {
  const auto outcome = RunShell("blkfair run --on host /lopsided.toml", {"configfs"});
  EXPECT_EQ(outcome.status, "exit 77") << outcome.why << outcome.output;
  EXPECT_NE(outcome.output.find("null_blk"), std::string::npos) << outcome.output;
}

TEST(HostExecutor, CleanUndoesWhatAKillLeft) {
  const auto outcome = RunShell(
      std::string("blkfair run --on host /lopsided.toml & pid=$!; sleep 4; kill -9 $pid; wait; "
                  "echo before: $(ls /sys/block); blkfair clean; code=$?; "
                  "echo after: $(ls /sys/kernel/config/nullb) $(ls -d /sys/module/null_blk) "
                  "$(ls /.local/state/blkfair/journals); blkfair clean; exit $code"),
      {"configfs", "null_blk"});
  EXPECT_EQ(outcome.status, "exit 0") << outcome.why << outcome.output;
  EXPECT_NE(outcome.output.find("before: bf-pair-0 bf-pair-1"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("after:\n"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("0 journals undone"), std::string::npos)
      << "a second clean finds nothing: " << outcome.output;
}

}  // namespace
}  // namespace blkfair
