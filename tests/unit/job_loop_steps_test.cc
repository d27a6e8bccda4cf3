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

Arrivals Every(int64_t ns) {
  JobSpec spec;
  spec.rate_iops = 1e9 / static_cast<double>(ns);
  return Arrivals(spec, 0, 1);
}

TEST(JobLoopOpen, IosBeginWhenTheyAreDueNotWhenOthersComplete) {
  Crank crank({.loop = {.iodepth = 4, .batch_complete = 2, .arrivals = Every(100)}, .ramp_ns = 0});
  crank.Submit();
  EXPECT_EQ(crank.engine.in_flight.size(), 1u);  // due at the barrier
  EXPECT_EQ(crank.DeadlineAt(), 100);
  crank.FinishAt(40);
  EXPECT_EQ(crank.engine.in_flight.size(), 0u);
  EXPECT_EQ(crank.DeadlineAt(), 100);
  crank.At(100);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 1u);
  crank.At(230);  // one is late by the loop's own fault
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
  crank.FinishAt(260, 2);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.directions[0].lat.sum_ns(), 40u + 160u + 30u);
  EXPECT_EQ(record.directions[0].response->sum_ns(), 40u + 160u + 60u);
  EXPECT_EQ(record.open_loop->late, 0u);
  EXPECT_EQ(record.open_loop->behind_ns, 0);  // by less than an interval
}

TEST(JobLoopOpen, ABacklogIsMadeUpForAndIsTheDevicesWhileEverySlotIsTaken) {
  Crank crank(
      {.loop = {.iodepth = 2, .batch_submit = 2, .batch_complete = 2, .arrivals = Every(100)},
       .ramp_ns = 0});
  crank.Submit();
  crank.At(100);
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
  crank.FinishAt(650, 2);  // due meanwhile: 200, 300, 400, 500, 600
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
  crank.FinishAt(660, 2);
  EXPECT_EQ(crank.engine.in_flight.size(), 2u);
  crank.FinishAt(670, 2);
  EXPECT_EQ(crank.engine.in_flight.size(), 1u);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.open_loop->late, 5u);
  EXPECT_EQ(record.open_loop->backlog_max, 3u);
  EXPECT_EQ(record.open_loop->behind_ns, 0);
  // 650, 550, then 460, 360, then 270, 170 from when they were due.
  EXPECT_EQ(record.directions[0].response->sum_ns(), 650u + 550 + 460 + 360 + 270 + 170);
}

TEST(JobLoopOpen, ALoopThatComesTooLateWithASlotFreeIsBehind) {
  Crank crank({.loop = {.iodepth = 8, .batch_submit = 8, .arrivals = Every(100)}, .ramp_ns = 0});
  crank.Submit();
  crank.FinishAt(10);
  crank.At(750);  // nobody called: 100 was overdue from 200 on
  crank.ReapAndSubmit();
  EXPECT_EQ(crank.engine.in_flight.size(), 7u);
  EXPECT_EQ(crank.Finish().open_loop->behind_ns, 550);
}

TEST(JobLoopOpen, WhatWasDueAtTheCloseAndNotBegunIsTheBacklogThere) {
  Crank crank({.loop = {.iodepth = 1, .arrivals = Every(100)}, .ramp_ns = 0, .runtime_ns = 1000});
  crank.Submit();
  crank.At(1500);
  crank.engine.Finish();
  crank.ReapAndSubmit();
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.open_loop->due, 10u);
  EXPECT_EQ(record.open_loop->backlog_at_close, 9u);
  EXPECT_EQ(record.open_loop->backlog_max, 9u);
  EXPECT_EQ(record.open_loop->late, 9u);
  Ages overdue;  // and the one in flight: 1000 of age, in a bucket that begins at 1000
  for (int64_t age_ns = 100; age_ns <= 1000; age_ns += 100) {
    overdue.emplace_back(Histogram::BucketStart(Histogram::BucketOf(age_ns)), 1);
  }
  EXPECT_EQ(record.unfinished_at_close.response, overdue);
  EXPECT_EQ(record.unfinished_at_close.lat, (Ages{{1000, 1}}));
}

TEST(Arrivals, PoissonOnesHaveTheRateAndSpreadAndDependOnTheSeedAlone) {
  JobSpec spec;
  spec.rate_iops = 1000;
  spec.rate_process = RateProcess::kPoisson;
  Arrivals one(spec, 0, 7);
  Arrivals same(spec, 0, 7);
  Arrivals other(spec, 0, 8);
  for (Arrivals* arrivals : {&one, &same, &other}) arrivals->Start(5000);
  constexpr int kDraws = 100'000;
  double squares = 0;
  int64_t last_ns = 5000;
  int differing = 0;
  for (int i = 0; i < kDraws; i++) {
    ASSERT_EQ(one.next_ns(), same.next_ns());
    ASSERT_GE(one.next_ns(), last_ns);
    differing += one.next_ns() != other.next_ns() ? 1 : 0;
    const auto gap = static_cast<double>(one.next_ns() - last_ns);
    squares += gap * gap;
    last_ns = one.next_ns();
    for (Arrivals* arrivals : {&one, &same, &other}) arrivals->Advance();
  }
  EXPECT_NEAR(static_cast<double>(last_ns) / kDraws, 1e6, 0.01e6);
  EXPECT_NEAR(squares / kDraws, 2e12, 0.05e12);  // exponential: twice the square of the mean
  EXPECT_GT(differing, kDraws - 10);
}

TEST(Arrivals, FixedOnesOfClonesLieBetweenEachOther) {
  JobSpec spec;
  spec.rate_iops = 3;
  spec.numjobs = 2;
  Arrivals first(spec, 0, 1);
  Arrivals second(spec, 1, 1);
  first.Start(1000);
  second.Start(1000);
  EXPECT_EQ(first.next_ns(), 1000);
  EXPECT_EQ(second.next_ns(), 1000 + 166'666'667);
  for (int i = 0; i < 3'000'000; i++) first.Advance();
  EXPECT_EQ(first.next_ns(), 1000 + 1'000'000'000'000'000);  // no error adds up
}

}  // namespace
}  // namespace blkfair
