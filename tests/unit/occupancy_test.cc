// The occupancy meter, on scripted readings: which source it believes, and when it sees contention.
#include "harness/measure/occupancy.h"

#include <gtest/gtest.h>

#include <vector>

namespace blkfair {
namespace {

// Hands out the same readings at every sample.
class ConstantSource final : public OccupancySource {
 public:
  explicit ConstantSource(std::vector<TagReading> readings) : readings_(std::move(readings)) {}
  void Read(std::span<TagReading> readings) override {
    std::copy(readings_.begin(), readings_.end(), readings.begin());
  }

 private:
  std::vector<TagReading> readings_;
};

TagReading Reading(uint32_t active, uint32_t busy, uint32_t waiters = 0, uint32_t users = 2) {
  return {active, busy, waiters, users, 4};
}

struct Outcome {
  std::vector<QueueRecord> queues;
  std::vector<TagSetPhaseRecord> sets;
};

Outcome Measure(std::vector<MeteredQueue> queues, MeteredSet set,
                std::vector<TagReading> readings) {
  ConstantSource source(std::move(readings));
  Outcome outcome;
  for (const MeteredQueue& queue : queues) {
    QueueRecord record;
    record.queue = queue.name;
    outcome.queues.push_back(record);
  }
  OccupancyMeter meter(std::move(queues), {set}, &source, 16);
  for (int64_t at = 0; at < 10; at++) meter.Sample(at);
  meter.Finish(2, 8, &outcome.queues, &outcome.sets);
  return outcome;
}

const std::vector<MeteredQueue> kLopsided = {{"pair:0", "pair", 256, 1}, {"pair:1", "pair", 1, 1}};

TEST(FairShareLimit, FollowsTheKernelsRule) {
  EXPECT_EQ(FairShareLimit(64, 1), 64U);
  EXPECT_EQ(FairShareLimit(64, 2), 32U);
  EXPECT_EQ(FairShareLimit(63, 2), 32U);
  EXPECT_EQ(FairShareLimit(64, 3), 22U);
  EXPECT_EQ(FairShareLimit(64, 16), 4U);
  EXPECT_EQ(FairShareLimit(64, 21), 4U);  // the floor: the set is oversubscribed
  EXPECT_EQ(FairShareLimit(2, 5), 2U);
}

TEST(OccupancyMeter, BelievesActiveWhereBusyAgrees) {
  const Outcome outcome = Measure(kLopsided, {"pair", true, 64}, {Reading(32, 31), Reading(1, 1)});
  ASSERT_TRUE(outcome.queues[0].occupancy);
  const OccupancyRecord& heavy = *outcome.queues[0].occupancy;
  EXPECT_EQ(heavy.source, "active");
  EXPECT_EQ(heavy.samples, 6U) << "samples outside [open, close) must not count";
  EXPECT_DOUBLE_EQ(*heavy.mean, 32);
  EXPECT_DOUBLE_EQ(*heavy.busy_mean, 31);
  EXPECT_EQ(*heavy.max, 32U);
  EXPECT_DOUBLE_EQ(*heavy.p95, 32);
  EXPECT_DOUBLE_EQ(heavy.at_limit_fraction, 1);
  EXPECT_EQ(outcome.sets[0].demand, 257U);
  EXPECT_EQ(outcome.sets[0].samples_contended, 6U);
  EXPECT_DOUBLE_EQ(*outcome.sets[0].active_queues_mean, 2);
  EXPECT_EQ(*outcome.sets[0].wake_batch, 4U);
}

TEST(OccupancyMeter, CountsBusyWhereTheKernelDroppedActive) {
  const Outcome outcome = Measure(kLopsided, {"pair", true, 64}, {Reading(0, 63), Reading(0, 1)});
  const OccupancyRecord& heavy = *outcome.queues[0].occupancy;
  EXPECT_EQ(heavy.source, "busy");
  EXPECT_DOUBLE_EQ(*heavy.mean, 63);
  EXPECT_DOUBLE_EQ(*heavy.active_mean, 0);
  EXPECT_NE(heavy.why.find("disagrees"), std::string::npos) << heavy.why;
  EXPECT_EQ(outcome.sets[0].samples_contended, 6U);
}

TEST(OccupancyMeter, SeesNoContentionBelowTheLimitOrWithOneContender) {
  EXPECT_EQ(Measure(kLopsided, {"pair", true, 64}, {Reading(5, 5), Reading(1, 1)})
                .sets[0]
                .samples_contended,
            0U);
  const std::vector<MeteredQueue> alone = {{"pair:0", "pair", 256, 1}};
  EXPECT_EQ(Measure(alone, {"pair", true, 64}, {Reading(64, 64, 1, 1)}).sets[0].samples_contended,
            0U);
  // Two sets of one queue each: full, but nobody is in the way of anybody else.
  EXPECT_EQ(Measure(kLopsided, {"pair", false, 64}, {Reading(0, 64, 1, 0), Reading(0, 1)})
                .sets[0]
                .samples_contended,
            0U);
}

TEST(OccupancyMeter, SeesContentionInWaiters) {
  EXPECT_EQ(Measure(kLopsided, {"pair", true, 64}, {Reading(5, 5, 3), Reading(1, 1, 3)})
                .sets[0]
                .samples_contended,
            6U);
}

TEST(OccupancyMeter, LeavesAbsentWhatNobodyCouldRead) {
  const Outcome outcome = Measure(kLopsided, {"pair", true, 64}, {{}, {}});
  const OccupancyRecord& heavy = *outcome.queues[0].occupancy;
  EXPECT_EQ(heavy.source, "none");
  EXPECT_FALSE(heavy.mean);
  EXPECT_FALSE(heavy.max);
  EXPECT_EQ(outcome.sets[0].samples_contended, 0U);
}

}  // namespace
}  // namespace blkfair
