// The job loop as a state machine: what it makes, hands over, waits for and when it ends.
#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>

#include "tests/unit/job_loop_crank.h"

namespace blkfair {
namespace {

TEST(JobLoopSteps, FillsItsDepthInBatchesAndWaitsForTheWholeBatch) {
  Crank crank({.loop = {.iodepth = 256, .batch_submit = 64, .batch_complete = 64}});
  crank.Submit();
  EXPECT_EQ(crank.engine.offered, (std::vector<size_t>{64, 64, 64, 64}));
  EXPECT_EQ(crank.need.min, 64u);
  EXPECT_EQ(crank.need.max, 64u);
  for (int round = 1; round <= 10; round++) crank.FinishAt(round * 10, 64);
  EXPECT_EQ(crank.engine.offered.size(), 14u);
  for (const size_t offered : crank.engine.offered) EXPECT_EQ(offered, 64u);
}

TEST(JobLoopSteps, BatchSubmitAloneMattersOnlyWhileTheDepthFills) {
  Crank crank({.loop = {.iodepth = 256, .batch_submit = 64, .batch_complete = 1}});
  crank.Submit();
  EXPECT_EQ(crank.need.min, 1u);
  // 64 are back, but a batch of completions is one.
  crank.At(10);
  for (int i = 0; i < 64; i++) crank.engine.Finish();
  for (int i = 0; i < 64; i++) crank.ReapAndSubmit();
  ASSERT_EQ(crank.engine.offered.size(), 68u);
  for (size_t i = 4; i < 68; i++) EXPECT_EQ(crank.engine.offered[i], 1u);
}

TEST(JobLoopSteps, ATimeoutInsideABatchOfCompletionsMakesNothingNew) {
  Crank crank({.loop = {.iodepth = 4, .batch_submit = 4, .batch_complete = 4}});
  crank.Submit();
  crank.FinishAt(10, 3);
  EXPECT_EQ(crank.engine.offered.size(), 1u);
  EXPECT_EQ(crank.need.min, 1u);
  EXPECT_EQ(crank.need.max, 1u);
  crank.FinishAt(20, 1);
  EXPECT_EQ(crank.engine.offered, (std::vector<size_t>{4, 4}));
}

TEST(JobLoopSteps, WhatTheEngineDidNotTakeIsOfferedAgainWithItsStartStamp) {
  Crank crank({.loop = {.iodepth = 4, .batch_submit = 4, .batch_complete = 1}, .ramp_ns = 0});
  crank.engine.answers = {3, 0};
  crank.At(10);
  crank.Submit();
  EXPECT_EQ(crank.engine.offered, (std::vector<size_t>{4, 1}));
  EXPECT_EQ(crank.need.min, 1u);
  crank.FinishAt(50);  // the fourth goes now: made at 10, issued at 50
  EXPECT_EQ(crank.engine.offered, (std::vector<size_t>{4, 1, 1, 1}));
  crank.FinishAt(60);
  crank.FinishAt(60);
  crank.FinishAt(100);
  const JobRecord record = crank.Finish();
  const DirectionRecord& reads = record.directions.front();
  EXPECT_EQ(reads.ios, 4u);
  EXPECT_EQ(reads.slat->max_ns(), 40);
  EXPECT_EQ(reads.slat->sum_ns(), 40u);
  EXPECT_EQ(reads.lat.max_ns(), 90);
  EXPECT_EQ(reads.slat->sum_ns() + reads.clat.sum_ns(), reads.lat.sum_ns());
}

TEST(JobLoopSteps, ARefusedRequestIsAnErrorAndTheNextOneIsTried) {
  Crank crank({.loop = {.iodepth = 2, .batch_submit = 2}, .rw = Rw::kRandWrite});
  crank.engine.answers = {-EINVAL, 1};
  crank.Submit();
  EXPECT_EQ(crank.engine.offered, (std::vector<size_t>{2}));
  EXPECT_EQ(crank.DeadlineAt(), 0);  // no wait: something may be made at once
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.errors, (std::map<std::string, uint64_t>{{"write EINVAL", 1}}));
}

TEST(JobLoopSteps, AnEngineThatTakesNothingWithNothingInFlightIsAnError) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.engine.answers = {0};
  crank.Submit();
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.errors, (std::map<std::string, uint64_t>{{"read EAGAIN", 1}}));
}

TEST(JobLoopSteps, ThinkTimeHoldsBackEachSlotByItself) {
  Crank crank({.loop = {.iodepth = 2, .batch_submit = 2, .think_time_ns = 100}});
  crank.Submit();
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
  crank.FinishAt(10);
  EXPECT_EQ(crank.engine.in_flight.size(), 1u);
  EXPECT_EQ(crank.DeadlineAt(), 110);
  crank.FinishAt(50);
  EXPECT_EQ(crank.engine.in_flight.size(), 0u);
  EXPECT_EQ(crank.DeadlineAt(), 110);
  crank.At(110);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 1u);
  EXPECT_EQ(crank.DeadlineAt(), 150);
  crank.At(149);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 1u);
  crank.At(150);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
}

TEST(JobLoopSteps, StartDelayCountsFromTheBarrier) {
  Crank crank({.loop = {.iodepth = 2, .batch_submit = 2, .start_delay_ns = 300}});
  crank.Submit();
  EXPECT_TRUE(crank.engine.offered.empty());
  EXPECT_EQ(crank.DeadlineAt(), 300);
  crank.At(300);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
}

TEST(JobLoopSteps, WaitsNoLongerThanTheWakeLimit) {
  Crank crank({.loop = {.iodepth = 1, .wake_limit_ns = 70}});
  crank.Submit();
  EXPECT_EQ(crank.DeadlineAt(), 70);
  crank.At(70);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.DeadlineAt(), 140);
}

TEST(JobLoopSteps, MakesNothingFromTheCloseOnAndDrains) {
  Crank crank({.loop = {.iodepth = 2, .batch_submit = 2, .drain_limit_ns = 500}});
  crank.Submit();
  EXPECT_EQ(crank.DeadlineAt(), 1100);
  crank.At(1100);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.offered.size(), 1u);
  EXPECT_FALSE(crank.loop.done());
  EXPECT_EQ(crank.DeadlineAt(), 1600);
  crank.FinishAt(1200, 2);
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.in_flight_at_close, 2u);
  EXPECT_EQ(record.ios_drained, 2u);
  EXPECT_EQ(record.outstanding, 0u);
}

TEST(JobLoopSteps, GivesUpDrainingAtItsLimit) {
  Crank crank({.loop = {.iodepth = 3, .batch_submit = 3, .drain_limit_ns = 500}});
  crank.Submit();
  crank.FinishAt(1150, 1);
  crank.At(1599);
  crank.ReapAndSubmit();
  EXPECT_FALSE(crank.loop.done());
  crank.At(1600);
  crank.ReapAndSubmit();
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.outstanding, 2u);
  EXPECT_EQ(record.ios_drained, 1u);
  EXPECT_EQ(record.in_flight_at_close, 3u);
}

TEST(JobLoopSteps, ARequestMadeButNotHandedOverAtTheCloseIsForgotten) {
  Crank crank({.loop = {.iodepth = 2, .batch_submit = 2}});
  crank.engine.answers = {1, 0};
  crank.Submit();
  crank.FinishAt(1100, 1);
  EXPECT_TRUE(crank.loop.done());
  EXPECT_EQ(crank.engine.offered.size(), 2u);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.in_flight_at_close, 1u);
  EXPECT_EQ(record.ios_drained, 1u);
}

TEST(JobLoopSteps, AReapThatFailsEndsTheLoop) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  crank.engine.reap_error = EBADF;
  crank.loop.Reap(crank.need);
  EXPECT_TRUE(crank.loop.done());
  EXPECT_EQ(crank.loop.reap_errno(), EBADF);
  EXPECT_EQ(crank.loop.outstanding(), 1u);
}

TEST(JobLoopSteps, TheWindowCanBeClosedEarly) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  crank.FinishAt(200);
  crank.loop.CloseAt(crank.times.barrier_ns + 400);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.DeadlineAt(), 400);
  crank.FinishAt(500);
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.directions.front().ios, 1u);
  EXPECT_EQ(record.ios_drained, 1u);
  EXPECT_EQ(record.series.size(), 4u);
}

TEST(JobLoopSteps, ACloseInTheRampLeavesAnEmptyWindow) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  crank.loop.CloseAt(crank.times.barrier_ns + 50);
  crank.FinishAt(60);
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.directions.front().ios, 0u);
  EXPECT_EQ(record.ios_drained, 1u);
  EXPECT_EQ(record.gap_max_ns, 0);
  EXPECT_EQ(record.depth_mean, 0);
}

}  // namespace
}  // namespace blkfair
