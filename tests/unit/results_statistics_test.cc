#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "results/statistics.h"

namespace blkfair {
namespace {

using Values = std::vector<double>;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

TEST(Statistics, SummaryOfOneValueKnowsNoSpread) {
  const Summary summary = Summarise(Values{5});
  EXPECT_EQ(summary.n, 1U);
  EXPECT_EQ(summary.mean, 5);
  EXPECT_FALSE(summary.stddev);
}

TEST(Statistics, SummaryUsesTheSampleDeviation) {
  const Summary summary = Summarise(Values{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(summary.mean, 2.5);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 4);
  EXPECT_NEAR(*summary.stddev, 1.2909944, 1e-6);
}

TEST(Statistics, JainIsOneForEqualsAndOneNthForOneAlone) {
  EXPECT_DOUBLE_EQ(*Jain(Values{3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(*Jain(Values{9, 0, 0}), 1.0 / 3);
  EXPECT_FALSE(Jain(Values{0, 0}));
  EXPECT_FALSE(Jain(Values{}));
}

TEST(Statistics, JainDividesByWeights) {
  EXPECT_DOUBLE_EQ(*Jain(Values{30, 10}, Values{3, 1}), 1);
  EXPECT_LT(*Jain(Values{30, 10}), 0.9);
}

TEST(Statistics, MaxMinGivesEqualsEqualShares) {
  EXPECT_EQ(MaxMinShares(64, Values{64, 64}), (Values{32, 32}));
}

TEST(Statistics, MaxMinHandsOnWhatTheModestDoNotWant) {
  EXPECT_EQ(MaxMinShares(64, Values{256, 1}), (Values{63, 1}));
  EXPECT_EQ(MaxMinShares(10, Values{2, 2.6, 4, 5}), (Values{2, 2.6, 2.7, 2.7}));
}

TEST(Statistics, MaxMinGivesNobodyMoreThanItWants) {
  EXPECT_EQ(MaxMinShares(64, Values{10, 20}), (Values{10, 20}));
}

TEST(Statistics, MaxMinFollowsWeights) {
  EXPECT_EQ(MaxMinShares(64, Values{kUnlimited, kUnlimited}, Values{3, 1}), (Values{48, 16}));
  EXPECT_EQ(MaxMinShares(64, Values{40, kUnlimited}, Values{3, 1}), (Values{40, 24}));
}

// What makes a division max-min fair: all is handed out, and who gets less than it wants has at
// least as much (per weight) as anybody.
TEST(Statistics, MaxMinHoldsItsDefiningProperty) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> any(0.5, 100);
  for (int round = 0; round < 200; round++) {
    Values demands(1 + static_cast<size_t>(round) % 7);
    Values weights(demands.size());
    for (double& demand : demands) demand = any(generator);
    for (double& weight : weights) weight = any(generator);
    const double capacity = any(generator) * 3;
    const Values shares = MaxMinShares(capacity, demands, weights);
    const double wanted = std::accumulate(demands.begin(), demands.end(), 0.0);
    const double given = std::accumulate(shares.begin(), shares.end(), 0.0);
    EXPECT_NEAR(given, std::min(wanted, capacity), 1e-9);
    for (size_t i = 0; i < shares.size(); i++) {
      EXPECT_LE(shares[i], demands[i] + 1e-9);
      if (shares[i] > demands[i] - 1e-9) continue;
      for (size_t j = 0; j < shares.size(); j++) {
        EXPECT_GE(shares[i] / weights[i], shares[j] / weights[j] - 1e-9);
      }
    }
  }
}

TEST(Statistics, CountingNoiseFallsWithTheRootOfTheCount) {
  EXPECT_DOUBLE_EQ(CountingNoise(400), 0.1);
  EXPECT_EQ(CountingNoise(0), kUnlimited);
}

// --- repeats ---

TEST(Estimates, MeanIsHeldByStudentsInterval) {
  const auto estimate = EstimateMean(Values{1, 2, 3, 4, 5}, 0.95);
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->value, 3);
  EXPECT_NEAR(estimate->half_width, 2.7764451 * std::sqrt(2.5 / 5), 1e-6);  // t(4, 0.975), tables
  EXPECT_DOUBLE_EQ(estimate->high - estimate->low, 2 * estimate->half_width);
}

TEST(Estimates, OneValueHasNoSpread) {
  EXPECT_FALSE(EstimateMean(Values{1}, 0.95));
  EXPECT_FALSE(EstimateFactor(Values{1}, 0.95));
  EXPECT_FALSE(EstimateMedian(Values{1, 2, 3, 4, 5}, 0.95));
}

TEST(Estimates, NeverNarrowerThanTheMetricResolves) {
  const auto mean = EstimateMean(Values{7, 7, 7}, 0.95, 0.5);
  EXPECT_DOUBLE_EQ(mean->low, 6.5);
  EXPECT_DOUBLE_EQ(mean->high, 7.5);
  const auto factor = EstimateFactor(Values{100, 100}, 0.95, 1.0 / 256);
  EXPECT_NEAR(factor->high, 100 * (1 + 1.0 / 256), 1e-9);
}

TEST(Estimates, FactorsAreSymmetric) {
  const Values values{0.5, 0.7, 0.6, 0.66};
  Values inverse;
  for (const double value : values) inverse.push_back(1 / value);
  const auto one = EstimateFactor(values, 0.95);
  const auto other = EstimateFactor(inverse, 0.95);
  EXPECT_NEAR(one->value * other->value, 1, 1e-12);
  EXPECT_NEAR(one->low * other->high, 1, 1e-12);
}

TEST(Estimates, ZerosAreRaisedOrRefused) {
  EXPECT_FALSE(EstimateFactor(Values{0, 4}, 0.95));
  const auto raised = EstimateFactor(Values{0, 4}, 0.95, 0, 1);
  ASSERT_TRUE(raised);
  EXPECT_DOUBLE_EQ(raised->value, 2);
}

TEST(Estimates, MedianNeedsSixAndTakesOrderStatistics) {
  const auto six = EstimateMedian(Values{6, 1, 5, 2, 4, 3}, 0.95);
  ASSERT_TRUE(six);
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 6);
  EXPECT_EQ(six->value, 3.5);
  const auto nine = EstimateMedian(Values{9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.95);
  EXPECT_EQ(nine->low, 2);  // 2 P(B(9, 1/2) < 2) = 20/512
  EXPECT_EQ(nine->high, 8);
}

TEST(Estimates, IntervalsHoldTheTruthAsOftenAsTheySay) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(10, 2);
  constexpr int kTrials = 2000;
  int means = 0;
  int medians = 0;
  for (int trial = 0; trial < kTrials; trial++) {
    Values values(8);
    for (double& value : values) value = normal(random);
    const auto mean = EstimateMean(values, 0.95);
    const auto median = EstimateMedian(values, 0.95);
    means += mean->low <= 10 && 10 <= mean->high;
    medians += median->low <= 10 && 10 <= median->high;
  }
  // Three standard deviations of that many trials are 1.5 %.
  EXPECT_NEAR(means, 0.95 * kTrials, 0.015 * kTrials);
  EXPECT_GE(medians, (0.95 - 0.015) * kTrials);
}

TEST(Estimates, RepeatsToDecideDo) {
  const auto estimate = EstimateMean(Values{9, 11, 9, 11}, 0.95);
  ASSERT_LT(estimate->low, 9);
  const auto repeats = RepeatsToDecide(*estimate, 9, 0.95);
  ASSERT_TRUE(repeats);
  Values more;
  for (size_t i = 0; i < *repeats; i++) more.push_back(i % 2 == 0 ? 9 : 11);
  EXPECT_GT(EstimateMean(more, 0.95)->low, 9);
  EXPECT_FALSE(RepeatsToDecide(*estimate, 10, 0.95));
}

// The number is for nine of ten series: by the formula half of them would be undecided where the
// interval alone is looked at.
TEST(Estimates, RepeatsToDecideDecideNineOfTen) {
  Estimate estimate = *EstimateMean(Values{9, 11, 9, 11}, 0.95);
  estimate.value = 0.5;
  estimate.spread = 1;
  const size_t n = *RepeatsToDecide(estimate, 0, 0.95);
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0.5, 1);
  int decided = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; trial++) {
    Values values(n);
    for (double& value : values) value = normal(random);
    decided += EstimateMean(values, 0.95)->low > 0;
  }
  EXPECT_NEAR(decided, 0.9 * kTrials, 0.04 * kTrials);
}

TEST(Estimates, SignTestAgreesWithTables) {
  EXPECT_NEAR(SignTestP(Values{2, 3, 4, 5, 6, 7}, 1), 2.0 / 64, 1e-12);
  EXPECT_NEAR(SignTestP(Values{2, 3, 4, 5, 6, 0.5}, 1), 2 * 7.0 / 64, 1e-12);
  EXPECT_EQ(SignTestP(Values{1, 1}, 1), 1);
  EXPECT_EQ(RepeatsForSigns(0.05), 6U);
  EXPECT_EQ(RepeatsForSigns(0.025), 7U);
}

TEST(Estimates, ChanceExplainsSeventeenOfTwoHundred) {
  EXPECT_EQ(MostByChance(200, 0.05, 0.0125), 17U);
  EXPECT_EQ(MostByChance(20, 0.05, 0.0125), 4U);
  EXPECT_EQ(MostByChance(10, 0, 0.0125), 0U);
}

TEST(Estimates, HolmStopsAtTheFirstThatIsNotSignificant) {
  EXPECT_EQ(HolmSignificant(Values{0.01, 0.04, 0.03}, 0.05),
            (std::vector<bool>{true, false, false}));
  EXPECT_EQ(HolmSignificant(Values{0.04, 0.01, 0.02}, 0.05), (std::vector<bool>{true, true, true}));
}

TEST(Estimates, TTestAgreesWithTables) {
  EXPECT_NEAR(TTestP(Values{1, 2, 3, 4, 5}, 0), 0.0132, 1e-4);
  EXPECT_EQ(TTestP(Values{2, 2}, 2), 1);
  EXPECT_EQ(TTestP(Values{2, 2}, 3), 0);
}

}  // namespace
}  // namespace blkfair
