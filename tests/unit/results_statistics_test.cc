#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace blkfair
