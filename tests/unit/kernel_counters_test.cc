// The kernel's own counters: their text, their wrapping, and what becomes of them in a record.
#include "harness/measure/kernel_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/measure/cross_check.h"

namespace blkfair {
namespace {

// As 6.1 to 7.3 print it.
constexpr const char* kStat =
    "     100        5     1600      250       20        1      320       90        7     "
    "  300      345        3        0     6144        2        4        1\n";

TEST(BlockStat, ReadsTheCountersOfEachKind) {
  const Result<BlockStat> stat = ParseBlockStat(kStat);
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->kinds[0], (BlockStat::Counts{100, 5, 1600, 250}));
  EXPECT_EQ(stat->kinds[1], (BlockStat::Counts{20, 1, 320, 90}));
  EXPECT_EQ(stat->kinds[2], (BlockStat::Counts{3, 0, 6144, 2}));
  EXPECT_EQ(stat->in_flight, 7U);
}

TEST(BlockStat, RefusesWhatIsNoStat) {
  EXPECT_FALSE(ParseBlockStat(""));
  EXPECT_FALSE(ParseBlockStat("1 2 3 4 5 6 7 8 9 10 11"));
  EXPECT_FALSE(ParseBlockStat("1 2 3 4 5 6 7 8 9 10 11 12 13 fourteen 15"));
  EXPECT_FALSE(ParseBlockStat("1 2 3 4 5 6 7 8 9 10 11 12 13 99999999999999999999999 15"));
}

TEST(CounterDelta, GoesOnWhereAnUnsignedLongOf32Or64BitsWraps) {
  EXPECT_EQ(CounterDelta(10, 25), 15U);
  EXPECT_EQ(CounterDelta(10, 10), 0U);
  EXPECT_EQ(CounterDelta(0xffff'fff0, 0x10), 0x20U);
  EXPECT_EQ(CounterDelta(0xffff'ffff'ffff'fff0, 0x10), 0x20U);
  EXPECT_EQ(CounterDelta(0xffff'fff0, 0x1'0000'0010), 0x20U);  // 64 bits, and not near their end
}

class KernelCountersTest : public ::testing::Test {
 protected:
  KernelCountersTest() {
    queue_.fixture = "pair";
    queue_.disk = "nullb0";
    std::filesystem::create_directories(disk_ + "/queue");
    Put("queue/iostats", "1");
    Put("queue/scheduler", "[none] mq-deadline");
    Put("dev", "252:1");
  }
  ~KernelCountersTest() override { std::filesystem::remove_all(dir_); }

  void Put(const std::string& file, const std::string& text) const {
    std::ofstream(disk_ + "/" + file) << text << "\n";
  }
  static std::string Reads(uint64_t requests, uint64_t sectors, uint64_t time_ms, int in_flight) {
    return std::to_string(requests) + " 0 " + std::to_string(sectors) + " " +
           std::to_string(time_ms) + " 0 0 0 0 " + std::to_string(in_flight) + " 0 0 0 0 0 0 0 0";
  }
  QueueRecord Measure(const std::string& open, const std::string& close) {
    KernelCounters counters(fs_, waits_, {{queue_}});
    Put("stat", open);
    counters.ReadAtOpen(1'000'000'010);
    Put("stat", close);
    counters.ReadAtClose(3'000'000'010);
    std::vector<QueueRecord> records(1);
    records[0].queue = "pair:0";
    counters.Finish(&records);
    return records[0];
  }

  const std::string dir_ = ::testing::TempDir() + "kernel_counters_" + std::to_string(::getpid());
  const std::string disk_ = dir_ + "/sys/block/nullb0";
  const KernelFs fs_{KernelRoots::Under(dir_)};
  TagWaits waits_;
  Queue queue_;
};

TEST_F(KernelCountersTest, CountWhatPassedBetweenTheEndsOfTheWindow) {
  const QueueRecord record = Measure(Reads(100, 800, 50, 7), Reads(740, 5920, 64'050, 32));
  EXPECT_EQ(record.kernel_absent, "");
  ASSERT_TRUE(record.kernel);
  // Its own moment: later than the beginning of the round by what was read before it.
  EXPECT_GT(record.kernel->open_at_ns, 1'000'000'010);
  EXPECT_LT(record.kernel->open_at_ns, 2'000'000'000);
  EXPECT_GT(record.kernel->close_at_ns, 3'000'000'010);
  EXPECT_EQ(record.kernel->in_flight_at_open, 7U);
  EXPECT_EQ(record.kernel->in_flight_at_close, 32U);
  EXPECT_TRUE(record.kernel->time_is_tag_time);
  const KernelCountsRecord& reads = record.kernel->counts[0];
  EXPECT_EQ(reads.direction, "read");
  EXPECT_EQ(reads.requests, 640U);
  EXPECT_EQ(reads.bytes, 640U * 4096);
  EXPECT_EQ(reads.time_ns, 64'000'000'000);
  EXPECT_FALSE(record.tag_waits);
}

TEST_F(KernelCountersTest, WrapLikeTheKernels) {
  const QueueRecord record =
      Measure(Reads(4'294'967'290, 4'294'967'248, 50, 7), Reads(4, 32, 50, 7));
  ASSERT_TRUE(record.kernel);
  EXPECT_EQ(record.kernel->counts[0].requests, 10U);
  EXPECT_EQ(record.kernel->counts[0].bytes, 80U * 512);
}

TEST_F(KernelCountersTest, AreAbsentWhereTheQueueDoesNotCount) {
  Put("queue/iostats", "0");
  const QueueRecord record = Measure(Reads(0, 0, 0, 0), Reads(0, 0, 0, 0));
  EXPECT_FALSE(record.kernel);
  EXPECT_EQ(record.kernel_absent, "iostats is off on nullb0");
}

TEST_F(KernelCountersTest, AreAbsentWhereThereIsNoBlockDevice) {
  queue_.kind = QueueKind::kChar;
  EXPECT_EQ(Measure("", "").kernel_absent, "it is no block device");
}

TEST_F(KernelCountersTest, AreAbsentWithAReasonWhereTheyCannotBeRead) {
  queue_.disk = "nullb1";
  const QueueRecord record = Measure("", "");
  EXPECT_FALSE(record.kernel);
  EXPECT_NE(record.kernel_absent.find("nullb1/stat"), std::string::npos) << record.kernel_absent;
}

TEST_F(KernelCountersTest, AreAbsentWhereTheWindowWasCutShort) {
  KernelCounters counters(fs_, waits_, {{queue_}});
  Put("stat", kStat);
  counters.ReadAtOpen(0);
  std::vector<QueueRecord> records(1);
  records[0].queue = "pair:0";
  counters.Finish(&records);
  EXPECT_FALSE(records[0].kernel);
  EXPECT_EQ(records[0].kernel_absent, "the window was cut short");
}

Scenario ScenarioOf(const std::string& engine) {
  Scenario scenario;
  scenario.jobs.emplace_back();
  scenario.jobs[0].name = "heavy";
  scenario.jobs[0].engine = engine;
  scenario.phases.emplace_back();
  scenario.phases[0].name = "p";
  scenario.phases[0].jobs = {"heavy"};
  return scenario;
}

PhaseRecord PhaseOf(QueueRecord queue, double tags, double depth) {
  PhaseRecord phase;
  phase.name = "p";
  phase.window_open_ns = 1'000'000'000;
  phase.window_close_ns = 3'000'000'000;
  queue.occupancy.emplace();
  queue.occupancy->mean = tags;
  phase.queues = {queue};
  JobRecord job;
  job.job = "heavy";
  job.engine = "libaio";
  job.queue = queue.queue;
  job.depth_mean = depth;
  phase.jobs = {job, job};
  return phase;
}

TEST_F(KernelCountersTest, ThroughputTimesServiceIsHowManyRequestsWereInFlight) {
  // 640 requests of 100 ms each in 2 s.
  PhaseRecord phase =
      PhaseOf(Measure(Reads(100, 800, 50, 7), Reads(740, 5920, 64'050, 32)), 31.5, 128);
  CrossCheckOccupancy(ScenarioOf("libaio"), &phase);
  EXPECT_NEAR(*phase.queues[0].occupancy->service_mean, 32, 0.001);
  EXPECT_DOUBLE_EQ(*phase.queues[0].occupancy->waiting_mean, 256 - 31.5);
}

TEST_F(KernelCountersTest, WithASchedulerARequestExistsBeforeItHasATag) {
  Put("queue/scheduler", "none [mq-deadline]");
  PhaseRecord phase =
      PhaseOf(Measure(Reads(100, 800, 50, 7), Reads(740, 5920, 64'050, 32)), 31.5, 10);
  CrossCheckOccupancy(ScenarioOf("libaio"), &phase);
  EXPECT_FALSE(phase.queues[0].occupancy->service_mean);
  EXPECT_DOUBLE_EQ(*phase.queues[0].occupancy->waiting_mean, 0);
}

TEST_F(KernelCountersTest, ReadLateTheyMakeNoThroughputTimesService) {
  const QueueRecord queue = Measure(Reads(100, 800, 50, 7), Reads(740, 5920, 64'050, 32));
  PhaseRecord late_open = PhaseOf(queue, 31.5, 128);
  late_open.window_open_ns = 900'000'000;
  CrossCheckOccupancy(ScenarioOf("libaio"), &late_open);
  EXPECT_FALSE(late_open.queues[0].occupancy->service_mean);
  PhaseRecord late_close = PhaseOf(queue, 31.5, 128);
  late_close.window_close_ns = 2'560'000'000;
  CrossCheckOccupancy(ScenarioOf("libaio"), &late_close);
  EXPECT_FALSE(late_close.queues[0].occupancy->service_mean);
  EXPECT_TRUE(late_close.queues[0].occupancy->waiting_mean);
}

TEST_F(KernelCountersTest, OfPassthroughTheyMakeNoThroughputTimesService) {
  PhaseRecord phase = PhaseOf(Measure(Reads(0, 0, 0, 0), Reads(0, 0, 0, 0)), 31.5, 64);
  for (JobRecord& job : phase.jobs) job.engine = "io_uring_cmd";
  CrossCheckOccupancy(ScenarioOf("io_uring_cmd"), &phase);
  EXPECT_FALSE(phase.queues[0].occupancy->service_mean);
  EXPECT_DOUBLE_EQ(*phase.queues[0].occupancy->waiting_mean, 128 - 31.5);
}

TEST_F(KernelCountersTest, WhatNeverReachesTheDeviceOrIsThePageCachesWaitsForNoTag) {
  PhaseRecord phase = PhaseOf(Measure(Reads(0, 0, 0, 0), Reads(0, 0, 0, 0)), 0, 26.7);
  for (JobRecord& job : phase.jobs) job.engine = "null";
  CrossCheckOccupancy(ScenarioOf("null"), &phase);
  EXPECT_FALSE(phase.queues[0].occupancy->waiting_mean);
  for (JobRecord& job : phase.jobs) job.engine = "libaio";
  Scenario scenario = ScenarioOf("libaio");
  scenario.jobs[0].direct = false;
  CrossCheckOccupancy(scenario, &phase);
  EXPECT_FALSE(phase.queues[0].occupancy->waiting_mean);
}

TEST(TagWaits, ReadsTheHistogramOfTheTracing) {
  const std::string text =
      "# event histogram\n#\n# trigger info: hist:keys=dev:vals=hitcount:sort=hitcount:size=2048 "
      "[active]\n#\n\n{ dev:  264241152 } hitcount:         12\n"
      "{ dev:  264241153 } hitcount:       3456\n\nTotals:\n    Hits: 3468\n    Entries: 2\n"
      "    Dropped: 0\n";
  const std::map<uint64_t, uint64_t> hits = ParseDevHistogram(text);
  EXPECT_EQ(hits, (std::map<uint64_t, uint64_t>{{264241152, 12}, {264241153, 3456}}));
  EXPECT_TRUE(ParseDevHistogram("").empty());
}

TEST(TagWaits, DeviceNumbersAreThoseOfTheKernel) {
  EXPECT_EQ(ParseDevNumber("252:1"), 264241153U);
  EXPECT_EQ(ParseDevNumber("252:0\n"), 264241152U);
  EXPECT_FALSE(ParseDevNumber("252"));
  EXPECT_FALSE(ParseDevNumber(""));
}

}  // namespace
}  // namespace blkfair
