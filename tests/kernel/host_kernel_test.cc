// The host executor, on a kernel that may be changed: the whole of blkfair runs inside a guest, as
// root, on that guest's own null_blk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
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

using Scenarios = std::vector<std::pair<std::string, std::string>>;  // path in the guest, text

GuestCommandOutcome RunShell(const std::string& script, const std::vector<std::string>& modules,
                             const Scenarios& scenarios = {}) {
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
  for (const auto& [path, text] : scenarios) {
    const std::string file = folder + path;
    std::ofstream(file) << text;
    command.files.push_back({file, path});
  }
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

// On one emulated CPU it takes hundreds of threads seconds until the last of them has begun.
std::string ManyClones(int clones) {
  return R"(name = "many"
situation = "Many clones."
expectation = "Each costs as much as the one before it."
why = "Memory is bounded."
occupancy_interval = "500ms"
contention = "any"
[[fixture]]
name = "disk"
kind = "null_blk"
queues = 1
depth = 64
service_time = "20ms"
[[job]]
name = "many"
queue = "disk:0"
numjobs = )" +
         std::to_string(clones) +
         R"(
[[phase]]
name = "all"
jobs = ["many"]
ramp = "3s"
runtime = "2s"
[[assert]]
kind = "bound"
phase = "all"
job = "many"
metric = "iops"
min = 1000
)";
}

// The most memory that blkfair held, read while it runs, for more and more clones.
TEST(HostExecutor, MemoryGrowsLinearlyWithTheJobs) {
  const auto outcome = RunShell(
      "for n in 64 256 512; do blkfair run --on host /$n.toml >/$n.out 2>&1 & pid=$!; "
      // What has ended has no memory any more.
      "  runs=1; while [ $runs = 1 ]; do sleep 0.3; runs=0; while read -r key value rest; do "
      "    if [ $key = VmHWM: ]; then most=$value; runs=1; fi; done < /proc/$pid/status; done; "
      "  wait $pid; code=$?; cat /$n.out; echo clones $n $code $most; done",
      {"configfs", "null_blk"},
      {{"/64.toml", ManyClones(64)},
       {"/256.toml", ManyClones(256)},
       {"/512.toml", ManyClones(512)}});
  EXPECT_EQ(outcome.status, "exit 0") << outcome.why << outcome.output;
  std::vector<double> kib;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    int clones = 0;
    int code = -1;
    double most = 0;
    if (std::sscanf(line.c_str(), "clones %d %d %lf", &clones, &code, &most) != 3) continue;
    EXPECT_EQ(code, 0) << clones << ": " << outcome.output;
    kib.push_back(most);
  }
  ASSERT_EQ(kib.size(), 3u) << outcome.output;
  const double first = (kib[1] - kib[0]) / 192;
  const double second = (kib[2] - kib[1]) / 256;
  EXPECT_NEAR(second, first, 0.2 * first) << outcome.output;
  EXPECT_LT(second, 1024) << "KiB for each clone: " << outcome.output;
}

// A clone in a process of its own is killed in the middle of its phase: that is seen at once,
// named, and what the others measured by then is kept.
TEST(HostExecutor, AWorkerThatIsKilledEndsTheRunAtOnceAndIsNamed) {
  const auto outcome = RunShell(
      "blkfair run --on host /lopsided.toml --set job.heavy.isolation=process "
      "--set job.light.isolation=process --set phase.contention.runtime=1h "
      "--set phase.solo_light.runtime=1s --set phase.solo_heavy.runtime=1s & pid=$!; "
      // Both are there in the contended phase only.
      "heavy=; light=; while [ -z \"$heavy\" ] || [ -z \"$light\" ]; do sleep 1; heavy=; light=; "
      "  for stat in /proc/[0-9]*/stat; do read -r id name state parent rest < $stat || continue; "
      "    case \"$name $parent\" in \"(heavy) $pid\") heavy=$id;; \"(light) $pid\") light=$id;; "
      "    esac; done; done; "
      "sleep 3; kill -9 $heavy; wait $pid; code=$?; "
      "echo left: $(ls /sys/kernel/config/nullb); exit $code",
      {"configfs", "null_blk"});
  EXPECT_EQ(outcome.status, "exit 3") << outcome.why << outcome.output;
  EXPECT_NE(outcome.output.find("phase contention: job heavy: its process was killed by signal 9"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("    contention"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("left:\n"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace blkfair
