#include "harness/run/phase_record.h"

#include <gtest/gtest.h>

namespace blkfair {
namespace {

JobRecord Job(const std::string& queue, uint64_t ios, int64_t gap_ns) {
  JobRecord job;
  job.queue = queue;
  job.iodepth = 8;
  job.gap_max_ns = gap_ns;
  DirectionRecord read;
  read.direction = "read";
  read.ios = ios;
  read.bytes = ios * 4096;
  job.directions.push_back(std::move(read));
  job.series = {{ios, ios * 4096, 10, 5, 8}, {1, 4096, 7, 7, 2}};
  return job;
}

TEST(PhaseRecord, QueueIsTheSumOfItsJobs) {
  Queue queue;
  queue.fixture = "pair";
  queue.index = 1;
  PhaseResult result;
  result.window_open_ns = 10;
  result.window_close_ns = 30;
  result.jobs.push_back(Job("pair:1", 100, 500));
  result.jobs.push_back(Job("pair:0", 7, 1));
  result.jobs.push_back(Job("pair:1", 50, 300));
  PhaseRecord record;
  FillPhaseRecord({queue}, std::move(result), &record);
  ASSERT_EQ(record.queues.size(), 1U);
  const QueueRecord& sum = record.queues[0];
  EXPECT_EQ(sum.queue, "pair:1");
  EXPECT_EQ(sum.ios, 150U);
  EXPECT_EQ(sum.bytes, 150U * 4096);
  EXPECT_EQ(sum.demand, 16U);
  EXPECT_EQ(sum.gap_max_ns, 300) << "some job completed while the other one waited";
  ASSERT_EQ(sum.series.size(), 2U);
  EXPECT_EQ(sum.series[0], (SeriesCell{150, 150 * 4096, 20, 5, 16}));
  EXPECT_EQ(record.window_ns(), 20);
  EXPECT_EQ(record.jobs.size(), 3U);
}

TEST(PhaseRecord, IsPartialWhereTheWindowWasCutShortAndNotWhereAWorkerBrokeAfterIt) {
  PhaseResult result;
  result.broken = Error{ErrorKind::kKernel, 0, "job a: it was given up"};
  PhaseRecord record;
  FillPhaseRecord({}, result, &record);
  EXPECT_FALSE(record.partial);
  result.cut_short = true;
  FillPhaseRecord({}, result, &record);
  EXPECT_TRUE(record.partial);
}

TEST(PhaseRecord, TrimsAreNotAddedToReadsAndWrites) {
  Queue queue;
  queue.fixture = "pair";
  PhaseResult result;
  result.jobs.push_back(Job("pair:0", 100, 500));
  result.jobs.push_back(Job("pair:0", 50, 300));
  result.jobs[1].directions.front().direction = "trim";
  PhaseRecord record;
  FillPhaseRecord({queue}, std::move(result), &record);
  const QueueRecord& sum = record.queues[0];
  EXPECT_EQ(sum.ios, 100U);
  EXPECT_EQ(sum.bytes, 100U * 4096);
  EXPECT_EQ(sum.series[0].ios, 100U);
  EXPECT_EQ(sum.demand, 16U) << "they take tags as well";
}

TEST(PhaseRecord, QueuesComeOnceInOrderOfFirstUse) {
  Queue a;
  a.fixture = "a";
  Queue b;
  b.fixture = "b";
  JobSpec deep;
  deep.iodepth = 256;
  JobSpec shallow;
  PhasePlan plan;
  plan.jobs = {{&deep, 0, &b, 1}, {&shallow, 0, &a, 2}, {&deep, 1, &b, 3}};
  const auto queues = QueuesOf(plan);
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[0].Name(), "b:0");
  const auto metered = MeteredQueuesOf(plan, queues);
  EXPECT_EQ(metered[0].demand, 512U);
  EXPECT_EQ(metered[0].contenders, 2U);
  EXPECT_EQ(metered[1].demand, 1U);
}

}  // namespace
}  // namespace blkfair
