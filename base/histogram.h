// Histogram: log-linear counts of nanosecond values. Values below 256 are exact; above, each power
// of two is cut into 128 buckets, so a value is at most 1/256 away from the middle of its bucket.
// Covers 0 ns to over 18 minutes; larger values are counted as saturated. Bounded memory, no
// allocation after construction, one increment per sample. Mergeable by addition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

namespace blkfair {

class Histogram {
 public:
  static constexpr unsigned kSubBits = 7;
  static constexpr unsigned kMaxBits = 40;  // 2^40 ns is 18.3 minutes
  static constexpr uint32_t kBuckets = (kMaxBits - kSubBits + 1) << kSubBits;

  // Copies take their memory from the default resource.
  explicit Histogram(std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  // One sample, or `n` equal ones; `ns` must not be negative (the caller counts those as clock
  // anomalies).
  void Add(int64_t ns, uint64_t n = 1) { counts_[BucketOf(static_cast<uint64_t>(ns))] += n; }
  // The same for ns < 2^kMaxBits, which saves the comparison.
  void AddInRange(int64_t ns, uint64_t n = 1) { counts_[IndexOf(static_cast<uint64_t>(ns))] += n; }
  void Merge(const Histogram& other);
  void Clear();

  uint64_t total() const;
  // Samples at or above 2^kMaxBits ns: they sit in the last bucket.
  uint64_t saturated() const { return counts_[kBuckets]; }

  struct Percentile {
    int64_t ns = 0;
    bool at_least = false;  // the sample lies in the saturated bucket: the value is ">= ns"
  };
  // The value below or at which a fraction p (0 < p < 1) of the samples lies (middle of its
  // bucket). Empty unless total() * (1 - p) >= 10: fewer samples beyond p say nothing.
  std::optional<Percentile> Quantile(double p) const;

  // Non-empty buckets, as (bucket index, count), ascending: the sparse form of the record.
  std::vector<std::pair<uint32_t, uint64_t>> Sparse() const;
  void AddBucket(uint32_t bucket, uint64_t count);

  static constexpr uint32_t BucketOf(uint64_t ns) {
    return static_cast<uint32_t>(std::min<uint64_t>(IndexOf(ns), kBuckets));
  }
  // The least value that a bucket holds, in ns.
  static int64_t BucketStart(uint32_t bucket);
  // The middle of a bucket, in ns; of the saturated bucket, its lower end.
  static int64_t BucketMiddle(uint32_t bucket);
  // The width of the bucket that holds ns: the resolution of a percentile there.
  static int64_t BucketWidth(int64_t ns);

 private:
  // Without a branch: this runs up to three times per I/O. Up to 2 * 2^kSubBits - 1 values are
  // their own buckets (shift 0); what lies beyond 2^kMaxBits comes out at kBuckets or above.
  static constexpr uint64_t IndexOf(uint64_t ns) {
    constexpr uint64_t kExact = (uint64_t{2} << kSubBits) - 1;
    // The position of the highest bit, in the form that compilers turn into one instruction.
    const unsigned top = static_cast<unsigned>(std::countl_zero(ns | kExact)) ^ 63u;
    const unsigned shift = top - kSubBits;
    return (uint64_t{shift} << kSubBits) + (ns >> shift);
  }

  std::pmr::vector<uint64_t> counts_;  // kBuckets + 1, the last one for saturated samples
};

}  // namespace blkfair
