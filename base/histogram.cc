#include "base/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace blkfair {

namespace {

constexpr uint32_t kSubCount = 1u << Histogram::kSubBits;

// Counts are whole and p is not: 1000 * (1 - 0.99) must be 10, and 0.99 * 1000 must be 990.
constexpr double kRounding = 1e-6;

unsigned ShiftOf(uint32_t bucket) {
  return bucket < 2 * kSubCount ? 0 : (bucket >> Histogram::kSubBits) - 1;
}

}  // namespace

Histogram::Histogram(std::pmr::memory_resource* memory) : counts_(kBuckets + 1, memory) {}

void Histogram::Merge(const Histogram& other) {
  for (uint32_t i = 0; i <= kBuckets; i++) counts_[i] += other.counts_[i];
}

void Histogram::Clear() { std::fill(counts_.begin(), counts_.end(), 0); }

uint64_t Histogram::total() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i <= kBuckets; i++) sum += counts_[i];
  return sum;
}

std::optional<Histogram::Percentile> Histogram::Quantile(double p) const {
  CHECK(p > 0 && p < 1);
  const auto n = static_cast<double>(total());
  if (n * (1 - p) < 10 - kRounding) return std::nullopt;
  const auto rank = static_cast<uint64_t>(std::ceil(n * p - kRounding));
  uint64_t seen = 0;
  uint32_t bucket = 0;
  while ((seen += counts_[bucket]) < rank) bucket++;
  return Percentile{BucketMiddle(bucket), bucket == kBuckets};
}

std::vector<std::pair<uint32_t, uint64_t>> Histogram::Sparse() const {
  std::vector<std::pair<uint32_t, uint64_t>> sparse;
  for (uint32_t i = 0; i <= kBuckets; i++) {
    if (counts_[i] != 0) sparse.emplace_back(i, counts_[i]);
  }
  return sparse;
}

void Histogram::AddBucket(uint32_t bucket, uint64_t count) {
  CHECK(bucket <= kBuckets);
  counts_[bucket] += count;
}

int64_t Histogram::BucketStart(uint32_t bucket) {
  CHECK(bucket <= kBuckets);
  if (bucket == kBuckets) return int64_t{1} << kMaxBits;
  const unsigned shift = ShiftOf(bucket);
  return static_cast<int64_t>(bucket - (shift << kSubBits)) << shift;
}

int64_t Histogram::BucketMiddle(uint32_t bucket) {
  const int64_t start = BucketStart(bucket);
  if (bucket == kBuckets) return start;
  return start + ((int64_t{1} << ShiftOf(bucket)) >> 1);
}

int64_t Histogram::BucketWidth(int64_t ns) {
  const uint32_t bucket = BucketOf(static_cast<uint64_t>(ns));
  if (bucket == kBuckets) return std::numeric_limits<int64_t>::max();
  return int64_t{1} << ShiftOf(bucket);
}

}  // namespace blkfair
