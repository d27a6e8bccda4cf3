#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/latency.h"

namespace blkfair {
namespace {

constexpr int64_t kLimitNs = int64_t{1} << Histogram::kMaxBits;

// The value at or below which a fraction p lies, from all samples in order.
int64_t Oracle(const std::vector<int64_t>& sorted, double p) {
  const auto rank = static_cast<size_t>(std::ceil(static_cast<double>(sorted.size()) * p - 1e-6));
  return sorted[rank - 1];
}

// Latencies from nanoseconds to minutes: a factor of e^8 either way about 1 ms.
std::vector<int64_t> SpreadSamples(size_t n, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::lognormal_distribution<double> distribution(std::log(1e6), 2.5);
  std::vector<int64_t> samples;
  while (samples.size() < n) {
    const double ns = distribution(generator);
    if (ns < static_cast<double>(kLimitNs)) samples.push_back(static_cast<int64_t>(ns));
  }
  return samples;
}

TEST(Histogram, QuantilesAreWithinOnePartIn256OfTheSortedSamples) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    std::vector<int64_t> samples = SpreadSamples(20'000, seed);
    Histogram histogram;
    for (const int64_t ns : samples) histogram.Add(ns);
    std::sort(samples.begin(), samples.end());
    int64_t last = 0;
    for (const double p : {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999}) {
      const auto percentile = histogram.Quantile(p);
      ASSERT_TRUE(percentile);
      const auto expected = static_cast<double>(Oracle(samples, p));
      EXPECT_LE(std::fabs(static_cast<double>(percentile->ns) - expected), expected / 256) << p;
      EXPECT_GE(percentile->ns, last);
      last = percentile->ns;
    }
  }
}

TEST(Histogram, SmallValuesAreExact) {
  for (int64_t ns = 0; ns < 256; ns++) {
    EXPECT_EQ(Histogram::BucketMiddle(Histogram::BucketOf(static_cast<uint64_t>(ns))), ns);
    EXPECT_EQ(Histogram::BucketWidth(ns), 1);
  }
}

TEST(Histogram, BucketsTileTheWholeRangeWithoutHolesOrOverlaps) {
  uint32_t bucket = 0;
  int64_t low = 0;
  while (low < kLimitNs) {
    const int64_t width = Histogram::BucketWidth(low);
    ASSERT_EQ(Histogram::BucketOf(static_cast<uint64_t>(low)), bucket);
    ASSERT_EQ(Histogram::BucketOf(static_cast<uint64_t>(low + width - 1)), bucket);
    ASSERT_GE(Histogram::BucketMiddle(bucket), low);
    ASSERT_LT(Histogram::BucketMiddle(bucket), low + width);
    low += width;
    bucket++;
  }
  EXPECT_EQ(low, kLimitNs);
  EXPECT_EQ(bucket, Histogram::kBuckets);
}

TEST(Histogram, QuantileIsAbsentWithFewerThanTenSamplesBeyondIt) {
  Histogram histogram;
  for (int i = 0; i < 999; i++) histogram.Add(i);
  EXPECT_FALSE(histogram.Quantile(0.99));
  EXPECT_TRUE(histogram.Quantile(0.98));
  histogram.Add(5);
  EXPECT_TRUE(histogram.Quantile(0.99));
  EXPECT_FALSE(histogram.Quantile(0.999));
  EXPECT_FALSE(Histogram().Quantile(0.5));
}

TEST(Histogram, ValuesBeyondItsRangeAreSaturatedAndSaySo) {
  Histogram histogram;
  for (int i = 0; i < 900; i++) histogram.Add(1'000);
  for (int i = 0; i < 100; i++) histogram.Add(94'000'000'000'000);
  EXPECT_EQ(histogram.total(), 1000U);
  EXPECT_EQ(histogram.saturated(), 100U);
  EXPECT_FALSE(histogram.Quantile(0.5)->at_least);
  const auto p95 = histogram.Quantile(0.95);
  ASSERT_TRUE(p95);
  EXPECT_TRUE(p95->at_least);
  EXPECT_EQ(p95->ns, kLimitNs);
  histogram.Add(kLimitNs - 1);
  EXPECT_EQ(histogram.saturated(), 100U);
}

TEST(Histogram, MergeIsTheSameAsAddingAll) {
  const std::vector<int64_t> samples = SpreadSamples(5'000, 7);
  Histogram all;
  Histogram even;
  Histogram odd;
  for (size_t i = 0; i < samples.size(); i++) {
    all.Add(samples[i]);
    (i % 2 == 0 ? even : odd).Add(samples[i]);
  }
  even.Merge(odd);
  EXPECT_EQ(even.Sparse(), all.Sparse());
  EXPECT_EQ(even.total(), 5'000U);
  even.Clear();
  EXPECT_EQ(even.total(), 0U);
}

TEST(Histogram, SparseFormRestoresIt) {
  Histogram histogram;
  for (const int64_t ns : SpreadSamples(1'000, 3)) histogram.Add(ns);
  histogram.Add(2 * kLimitNs);
  Histogram restored;
  for (const auto& [bucket, count] : histogram.Sparse()) restored.AddBucket(bucket, count);
  EXPECT_EQ(restored.Sparse(), histogram.Sparse());
  EXPECT_EQ(restored.saturated(), 1U);
}

TEST(Histogram, CopiesAreIndependent) {
  Histogram histogram;
  histogram.Add(5);
  Histogram copy = histogram;
  copy.Add(6);
  EXPECT_EQ(histogram.total(), 1U);
  histogram = copy;
  EXPECT_EQ(histogram.total(), 2U);
  const Histogram moved = std::move(copy);
  EXPECT_EQ(moved.total(), 2U);
}

TEST(LatencyStats, MomentsAreThoseOfTheSamples) {
  LatencyStats stats;
  for (const int64_t ns : {2, 4, 4, 4, 5, 5, 7, 9}) stats.Add(ns);
  EXPECT_EQ(stats.count(), 8U);
  EXPECT_EQ(stats.sum_ns(), 40U);
  EXPECT_EQ(stats.min_ns(), 2);
  EXPECT_EQ(stats.max_ns(), 9);
  EXPECT_DOUBLE_EQ(*stats.mean_ns(), 5.0);
  EXPECT_DOUBLE_EQ(*stats.stddev_ns(), 2.0);
}

TEST(LatencyStats, NarrowSpreadAroundALargeMeanKeepsItsDigits) {
  LatencyStats stats;
  constexpr int64_t kMinuteNs = 60'000'000'000;
  for (int i = 0; i < 100'000; i++) stats.Add(kMinuteNs + (i % 2 == 0 ? -1 : 1));
  EXPECT_DOUBLE_EQ(*stats.stddev_ns(), 1.0);
}

TEST(LatencyStats, NothingIsAbsentNotZero) {
  LatencyStats stats;
  EXPECT_FALSE(stats.min_ns());
  EXPECT_FALSE(stats.max_ns());
  EXPECT_FALSE(stats.mean_ns());
  EXPECT_FALSE(stats.stddev_ns());
  stats.Add(7);
  EXPECT_EQ(stats.min_ns(), 7);
  EXPECT_FALSE(stats.stddev_ns());
}

TEST(LatencyStats, PercentilesNeverExceedTheMaximum) {
  LatencyStats stats;
  // The lowest value of a wide bucket: its middle is above all samples.
  constexpr int64_t kNs = int64_t{1} << 30;
  for (int i = 0; i < 10'000; i++) stats.Add(kNs);
  EXPECT_GT(stats.histogram().Quantile(0.5)->ns, kNs);
  EXPECT_EQ(stats.Quantile(0.5)->ns, kNs);
  EXPECT_EQ(stats.Quantile(0.999)->ns, kNs);
}

// Completions of a tenth of a second to a minute and a half, far beyond where the peer's last
// bucket ends (17 s): each percentile is a sample that there was, and not the end of a bucket.
TEST(LatencyStats, B01PercentilesFollowTheSamplesBeyondAMinute) {
  LatencyStats stats;
  const std::vector<int64_t> samples = {900'000'000, 10'400'000'000, 20'000'000'000, 41'000'000'000,
                                        94'000'000'000};
  for (const int64_t ns : samples) {
    for (int i = 0; i < 200; i++) stats.Add(ns);
  }
  int64_t last = 0;
  for (const double p : {0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99}) {
    const auto percentile = stats.Quantile(p);
    ASSERT_TRUE(percentile);
    EXPECT_FALSE(percentile->at_least);
    const auto expected = static_cast<double>(Oracle({samples.begin(), samples.end()}, p));
    EXPECT_NEAR(static_cast<double>(percentile->ns), expected, expected / 256) << p;
    EXPECT_GE(percentile->ns, last);
    EXPECT_LE(percentile->ns, *stats.max_ns());
    last = percentile->ns;
  }
  EXPECT_EQ(stats.histogram().saturated(), 0U);
}

TEST(LatencyStats, AddInRangeIsTheSameAsAdd) {
  LatencyStats checked;
  LatencyStats in_range;
  for (const int64_t ns : SpreadSamples(2'000, 5)) {
    checked.Add(ns, 3);
    in_range.AddInRange(ns, 3);
  }
  checked.Add(kLimitNs - 1);
  in_range.AddInRange(kLimitNs - 1);
  EXPECT_EQ(in_range.histogram().Sparse(), checked.histogram().Sparse());
  EXPECT_EQ(in_range.count(), checked.count());
  EXPECT_EQ(in_range.stddev_ns(), checked.stddev_ns());
}

TEST(LatencyStats, MergeIsTheSameAsAddingAll) {
  LatencyStats all;
  LatencyStats first;
  LatencyStats second;
  const std::vector<int64_t> samples = SpreadSamples(2'000, 11);
  for (size_t i = 0; i < samples.size(); i++) {
    all.Add(samples[i]);
    (i < 500 ? first : second).Add(samples[i]);
  }
  first.Merge(second);
  first.Merge(LatencyStats());
  EXPECT_EQ(first.count(), all.count());
  EXPECT_EQ(first.sum_ns(), all.sum_ns());
  EXPECT_EQ(first.min_ns(), all.min_ns());
  EXPECT_EQ(first.max_ns(), all.max_ns());
  EXPECT_EQ(first.stddev_ns(), all.stddev_ns());
}

TEST(LatencyStats, RestoredStddevIsTheSameBitForBit) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    LatencyStats stats;
    for (const int64_t ns : SpreadSamples(1'000 + seed * 37, seed)) stats.Add(ns);
    LatencyStats restored =
        LatencyStats::Restore(stats.histogram(), stats.count(), stats.sum_ns(), *stats.min_ns(),
                              *stats.max_ns(), *stats.stddev_ns());
    EXPECT_EQ(*restored.stddev_ns(), *stats.stddev_ns());
    // Good enough to go on with: a merge moves both alike.
    LatencyStats other;
    other.Add(1'000'000'000);
    restored.Merge(other);
    stats.Merge(other);
    EXPECT_NEAR(*restored.stddev_ns() / *stats.stddev_ns(), 1, 1e-12);
  }
}

}  // namespace
}  // namespace blkfair
