// What the job loop counts, I/O by I/O, with times set by hand.
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "tests/unit/job_loop_crank.h"

namespace blkfair {
namespace {

TEST(JobLoopAccount, OnlyCompletionsFromOpenToCloseCount) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  for (const int64_t at : {99, 100, 101, 1099, 1100}) crank.FinishAt(at);
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.ios_trimmed, 1u);
  EXPECT_EQ(record.directions.front().ios, 3u);
  EXPECT_EQ(record.directions.front().bytes, 3u * 4096);
  EXPECT_EQ(record.directions.front().lat.count(), 3u);
  EXPECT_EQ(record.ios_drained, 1u);
}

TEST(JobLoopAccount, IssueAfterSubmitSplitsLatencyExactly) {
  Crank crank({.loop = {.iodepth = 1}, .ramp_ns = 0});
  crank.engine.submit_cost_ns = 7;
  crank.Submit();
  crank.FinishAt(30);
  const JobRecord record = crank.Finish();
  const DirectionRecord& reads = record.directions.front();
  EXPECT_EQ(reads.slat->sum_ns(), 7u);
  EXPECT_EQ(reads.clat.sum_ns(), 23u);
  EXPECT_EQ(reads.lat.sum_ns(), 30u);
}

TEST(JobLoopAccount, IssueBeforeSubmitPutsTheCallIntoClatAndLeavesSlatAbsent) {
  for (const IssuePoint point : {IssuePoint::kBeforeSubmit, IssuePoint::kAtEnqueue}) {
    Crank crank({.loop = {.iodepth = 1, .issue_point = point}, .ramp_ns = 0});
    crank.engine.submit_cost_ns = 7;
    crank.Submit();
    crank.FinishAt(30);
    const JobRecord record = crank.Finish();
    const DirectionRecord& reads = record.directions.front();
    EXPECT_FALSE(reads.slat.has_value());
    EXPECT_EQ(reads.clat.sum_ns(), 30u);
    EXPECT_EQ(reads.lat.sum_ns(), 30u);
  }
}

TEST(JobLoopAccount, ErrorsAndShortIoAreCountedByNameAndNotTimed) {
  Crank crank({.loop = {.iodepth = 1}, .ramp_ns = 0});
  crank.Submit();
  for (const int32_t result : {-EIO, -EIO, -ENOSPC, 512}) {
    crank.At(10);
    crank.engine.Finish(result);
    crank.ReapAndSubmit();
  }
  crank.FinishAt(20);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.errors, (std::map<std::string, uint64_t>{
                               {"read EIO", 2}, {"read ENOSPC", 1}, {"read short", 1}}));
  EXPECT_EQ(record.directions.front().ios, 1u);
  EXPECT_EQ(record.directions.front().lat.count(), 1u);
  EXPECT_EQ(record.series.front().ios, 1u);
}

TEST(JobLoopAccount, TrimsAreADirectionOfTheirOwn) {
  for (const Rw rw : {Rw::kTrim, Rw::kRandTrim}) {
    Crank crank({.loop = {.iodepth = 1}, .rw = rw, .ramp_ns = 0});
    crank.Submit();
    crank.At(10);
    crank.engine.Finish(-EOPNOTSUPP);
    crank.ReapAndSubmit();
    crank.FinishAt(20);
    const JobRecord record = crank.Finish();
    ASSERT_EQ(record.directions.size(), 1u);
    EXPECT_EQ(record.directions.front().direction, "trim");
    EXPECT_EQ(record.directions.front().ios, 1u);
    EXPECT_EQ(record.errors, (std::map<std::string, uint64_t>{{"trim EOPNOTSUPP", 1}}));
  }
}

TEST(JobLoopAccount, DirectionsAreKeptApart) {
  Crank crank({.loop = {.iodepth = 1}, .rw = Rw::kRandRw, .ramp_ns = 0, .runtime_ns = 100'000});
  crank.Submit();
  for (int i = 1; i <= 1000; i++) crank.FinishAt(i * 10);
  const JobRecord record = crank.Finish();
  ASSERT_EQ(record.directions.size(), 2u);
  EXPECT_EQ(record.directions[0].direction, "read");
  EXPECT_EQ(record.directions[1].direction, "write");
  EXPECT_EQ(record.directions[0].ios + record.directions[1].ios, 1000u);
  EXPECT_NEAR(static_cast<double>(record.directions[0].ios), 500, 60);
}

TEST(JobLoopAccount, EveryIoOfABatchIsCountedWithItsOwnLatencies) {
  Crank crank({.loop = {.iodepth = 6, .batch_submit = 4, .batch_complete = 6},
               .rw = Rw::kRandRw,
               .ramp_ns = 0,
               .runtime_ns = 1'000'000});
  crank.engine.submit_cost_ns = 7;
  int64_t at = 0;
  crank.Submit();  // four issued at 7, two at 14; later ones likewise, after each batch
  for (int batch = 0; batch < 50; batch++) crank.FinishAt(at += 100, 6);
  const JobRecord record = crank.Finish();
  ASSERT_EQ(record.directions.size(), 2u);
  uint64_t ios = 0;
  uint64_t slat_sum_ns = 0;
  uint64_t lat_sum_ns = 0;
  for (const DirectionRecord& direction : record.directions) {
    EXPECT_EQ(direction.slat->count(), direction.ios);
    EXPECT_EQ(direction.clat.count(), direction.ios);
    EXPECT_EQ(direction.clat.histogram().total(), direction.ios);
    EXPECT_EQ(direction.slat->sum_ns() + direction.clat.sum_ns(), direction.lat.sum_ns());
    EXPECT_EQ(direction.clat.min_ns(), 86);
    EXPECT_EQ(direction.clat.max_ns(), 93);
    ios += direction.ios;
    slat_sum_ns += direction.slat->sum_ns();
    lat_sum_ns += direction.lat.sum_ns();
  }
  EXPECT_EQ(ios, 300u);
  EXPECT_EQ(slat_sum_ns, 300u * 7);
  EXPECT_EQ(lat_sum_ns, 50u * (4 * 100 + 2 * 93));
}

TEST(JobLoopAccount, TheGapCountsFromTheOpeningOfTheWindow) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  for (const int64_t at : {50, 350, 450, 1099}) crank.FinishAt(at);
  crank.FinishAt(1200);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.gap_max_ns, 649);  // 450 to 1099
  EXPECT_EQ(record.gap_max_at_ns, 450);
  EXPECT_FALSE(record.gap_censored);

  Crank late({.loop = {.iodepth = 1}});
  late.Submit();
  late.FinishAt(50);
  for (const int64_t at : {800, 900, 1000, 1090, 1150}) late.FinishAt(at);
  const JobRecord late_record = late.Finish();
  EXPECT_EQ(late_record.gap_max_ns, 700);  // 100, the opening, to 800
  EXPECT_EQ(late_record.gap_max_at_ns, 100);
}

TEST(JobLoopAccount, AGapThatTheCloseCutsOffIsCensored) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  crank.FinishAt(200);
  crank.FinishAt(5000);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.gap_max_ns, 900);  // 200 to 1100, the close
  EXPECT_EQ(record.gap_max_at_ns, 200);
  EXPECT_TRUE(record.gap_censored);
}

TEST(JobLoopAccount, AJobWithoutAnyCompletionHasOneGapOfTheWholeWindow) {
  Crank crank({.loop = {.iodepth = 1, .drain_limit_ns = 0}});
  crank.Submit();
  crank.At(1100);
  crank.ReapAndSubmit();
  EXPECT_TRUE(crank.loop.done());
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.gap_max_ns, 1000);
  EXPECT_TRUE(record.gap_censored);
  EXPECT_EQ(record.outstanding, 1u);
}

TEST(JobLoopAccount, DepthIsTheTimeMeanOfWhatIsInFlight) {
  Crank crank({.loop = {.iodepth = 4, .batch_submit = 4, .start_delay_ns = 600}});
  crank.Submit();
  crank.At(600);  // nothing in flight from 100 to 600, four from there to 1100
  crank.ReapAndSubmit();
  crank.FinishAt(1100, 4);
  crank.ReapAndSubmit();
  const JobRecord record = crank.Finish();
  EXPECT_DOUBLE_EQ(record.depth_mean, 2.0);
  EXPECT_EQ(record.depth_max, 4u);
}

TEST(JobLoopAccount, DepthObeysLittlesLaw) {
  Crank crank({.loop = {.iodepth = 1, .think_time_ns = 30}, .ramp_ns = 0});
  crank.Submit();
  for (int64_t at = 0; at < 1000; at += 40) {
    crank.FinishAt(at + 10);
    crank.At(at + 40);
    crank.ReapAndSubmit();
  }
  crank.FinishAt(1000);
  crank.ReapAndSubmit();
  const JobRecord record = crank.Finish();
  const DirectionRecord& reads = record.directions.front();
  EXPECT_EQ(reads.ios, 25u);
  const double little = static_cast<double>(reads.ios) / 1000 * reads.lat.mean_ns().value_or(0);
  EXPECT_NEAR(record.depth_mean, little, 1e-9);
}

TEST(JobLoopAccount, TheSeriesHasACellForEachIntervalFromTheBarrierOn) {
  Crank crank({.loop = {.iodepth = 2, .batch_submit = 2}, .runtime_ns = 250});
  crank.Submit();
  for (const int64_t at : {10, 120, 130, 320}) crank.FinishAt(at);
  crank.FinishAt(400, 2);
  const JobRecord record = crank.Finish();
  ASSERT_EQ(record.series.size(), 4u);  // 0, 100, 200, and 300 cut off at 350
  EXPECT_EQ(record.series[0].ios, 1u);
  EXPECT_EQ(record.series[0].bytes, 4096u);
  EXPECT_EQ(record.series[0].lat_sum_ns, 10u);
  EXPECT_EQ(record.series[1].ios, 2u);
  EXPECT_EQ(record.series[1].lat_sum_ns, 120u + 120u);
  EXPECT_EQ(record.series[1].lat_max_ns, 120);
  EXPECT_EQ(record.series[2], (SeriesCell{.in_flight = 2}));
  EXPECT_EQ(record.series[3].ios, 1u);
  for (const SeriesCell& cell : record.series) EXPECT_EQ(cell.in_flight, 2u);
}

TEST(JobLoopAccount, ImpossibleStampsAreCountedAndLeftOut) {
  Crank crank({.loop = {.iodepth = 1}, .ramp_ns = 0});
  crank.engine.submit_cost_ns = 20;
  crank.At(50);
  crank.Submit();      // issued at 70
  crank.FinishAt(60);  // reaped before it was issued
  crank.FinishAt(100);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.clock_anomalies, 1u);
  EXPECT_EQ(record.directions.front().ios, 1u);
  EXPECT_EQ(record.directions.front().lat.count(), 1u);
}

TEST(JobLoopAccount, AStartBeforeTheBarrierIsImpossible) {
  Crank crank({.loop = {.iodepth = 1}, .ramp_ns = 0});
  crank.At(-500);
  crank.Submit();
  crank.FinishAt(20);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.clock_anomalies, 1u);
  EXPECT_EQ(record.directions.front().ios, 0u);
}

TEST(JobLoopAccount, B01LatenciesBeyondTheHistogramAreKeptAsSaturated) {
  constexpr int64_t kHourNs = 3'600'000'000'000;
  Crank crank(
      {.loop = {.iodepth = 1}, .ramp_ns = 0, .runtime_ns = 10 * kHourNs, .cell_ns = kHourNs});
  crank.engine.submit_cost_ns = 20;
  crank.Submit();
  crank.FinishAt(100);
  crank.FinishAt(2 * kHourNs);
  crank.engine.submit_cost_ns = 3 * kHourNs;
  crank.FinishAt(2 * kHourNs + 100);
  crank.FinishAt(5 * kHourNs + 200);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.clock_anomalies, 0u);
  const DirectionRecord& direction = record.directions.front();
  EXPECT_EQ(direction.ios, 4u);
  EXPECT_EQ(direction.slat->histogram().saturated(), 1u);
  EXPECT_EQ(direction.clat.histogram().saturated(), 1u);
  EXPECT_EQ(direction.lat.histogram().saturated(), 2u);
  EXPECT_EQ(direction.slat->sum_ns() + direction.clat.sum_ns(), direction.lat.sum_ns());
  EXPECT_EQ(direction.lat.max_ns(), 3 * kHourNs + 100);
}

// A clock that steps when the test says so.
class TestWatch final : public ClockWatch {
 public:
  bool HasStepped(int64_t) override { return std::exchange(steps, false); }
  bool steps = false;
};

TEST(JobLoopAccount, WhatTheClockSteppedDuringIsCountedAndNotTimed) {
  JobAccount::Shape shape;
  shape.cell_ns = 100;
  shape.length_ns = 10'000;
  JobAccount account(shape);
  TestWatch watch;
  account.Begin({0, 0, 10'000}, &watch);
  const auto complete = [&](int64_t start_ns, int64_t now_ns) {
    account.Advance(now_ns, 1);
    JobAccount::Batch batch = account.BeginBatch(now_ns);
    account.Add<true>(batch, {start_ns, start_ns}, Direction::kRead);
    account.EndBatch(batch, 1);
  };
  complete(10, 60);
  watch.steps = true;
  complete(70, 5'090);  // 20 by any other clock
  complete(5'100, 5'150);
  JobRecord record;
  account.Finish(0, &record);
  EXPECT_EQ(record.clock_anomalies, 2u);  // the step, and the I/O
  EXPECT_EQ(record.directions.front().lat.count(), 2u);
  EXPECT_EQ(record.directions.front().lat.max_ns(), 50);
  EXPECT_LT(record.gap_max_ns, 5'000);
}

TEST(JobLoopAccount, AThreadThatHangsHasWaitedUntilTheClose) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  JobRecord from_the_ramp_on;
  crank.account.NoteHung(crank.times.close_ns, 1, &from_the_ramp_on);
  EXPECT_EQ(from_the_ramp_on.gap_max_ns, 1000);
  EXPECT_EQ(from_the_ramp_on.gap_max_at_ns, 100);
  EXPECT_TRUE(from_the_ramp_on.gap_censored);
  EXPECT_DOUBLE_EQ(from_the_ramp_on.depth_mean, 1);
  EXPECT_EQ(from_the_ramp_on.depth_max, 1u);
  crank.FinishAt(50);
  crank.FinishAt(350);
  JobRecord from_then_on;
  crank.account.NoteHung(crank.times.close_ns, 1, &from_then_on);
  EXPECT_EQ(from_then_on.gap_max_ns, 750);
  EXPECT_EQ(from_then_on.gap_max_at_ns, 350);
  EXPECT_DOUBLE_EQ(from_then_on.depth_mean, 1);
  EXPECT_EQ(from_then_on.ios_trimmed, 1u);
  EXPECT_TRUE(from_then_on.directions.empty());
}

TEST(JobLoopAccount, WhatIsInFlightAtTheOpenAndAtTheCloseHasItsAges) {
  Crank crank({.loop = {.iodepth = 3}});
  crank.engine.submit_cost_ns = 10;
  crank.Submit();      // made at 0, 10, 20, issued 10 later
  crank.FinishAt(40);  // one is made at 40
  crank.FinishAt(200);
  crank.FinishAt(1000);
  crank.At(1200);  // the one of 40 comes back after the close: it was in flight there
  crank.engine.Finish();
  crank.ReapAndSubmit();
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.unfinished_at_open.lat, (Ages{{60, 1}, {80, 1}, {90, 1}}));
  EXPECT_EQ(record.unfinished_at_open.clat, (Ages{{50, 1}, {70, 1}, {80, 1}}));
  // 1060 and 1050 lie in buckets of 8.
  EXPECT_EQ(record.unfinished_at_close.lat, (Ages{{100, 1}, {900, 1}, {1056, 1}}));
  EXPECT_EQ(record.unfinished_at_close.clat, (Ages{{90, 1}, {888, 1}, {1048, 1}}));
  EXPECT_TRUE(record.unfinished_at_close.response.empty());
}

TEST(JobLoopAccount, WhatHangsAllTheWindowLongIsUnfinishedAtBothItsEnds) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  crank.FinishAt(1300);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.unfinished_at_open.lat, (Ages{{100, 1}}));
  EXPECT_EQ(record.unfinished_at_close.lat, (Ages{{1096, 1}}));  // 1100, in a bucket of 8
}

TEST(JobLoopAccount, CallsAreCountedInTheWindowOnly) {
  Crank crank({.loop = {.iodepth = 1}});
  crank.Submit();
  for (const int64_t at : {50, 150, 250}) crank.FinishAt(at);
  crank.FinishAt(1200);
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.submit_calls, 2u);
  EXPECT_EQ(record.submit_sizes, (std::vector<std::pair<uint32_t, uint64_t>>{{1, 2}}));
  EXPECT_EQ(record.reap_calls, 2u);
}

TEST(JobLoopAccount, B15CallsAreToldApartByHowMuchTheyHandOver) {
  Crank crank({.loop = {.iodepth = 4, .batch_submit = 4, .batch_complete = 1}, .ramp_ns = 0});
  crank.engine.answers = {3, 0};
  crank.At(10);
  crank.Submit();
  crank.FinishAt(50);  // the fourth goes now, and one more
  const JobRecord record = crank.Finish();
  EXPECT_EQ(record.submit_calls, 4u);
  EXPECT_EQ(record.submit_sizes, (std::vector<std::pair<uint32_t, uint64_t>>{{1, 2}, {3, 1}}));
}

TEST(JobLoopAccount, ACallDuringWhichTheWindowOpensOrClosesIsCountedOnOneSideOnly) {
  for (const int64_t at : {95, 1095}) {
    Crank crank({.loop = {.iodepth = 4, .batch_submit = 4, .batch_complete = 4}});
    crank.engine.submit_cost_ns = 10;
    crank.At(at);
    crank.Submit();
    crank.FinishAt(1200, 4);
    const JobRecord record = crank.Finish();
    const bool opens = at < 100;
    EXPECT_EQ(record.submit_calls, opens ? 1u : 0u);
    EXPECT_EQ(record.submit_sizes.size(), record.submit_calls);
  }
}

}  // namespace
}  // namespace blkfair
