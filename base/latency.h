// LatencyStats: one class of latency (slat, clat or lat) of one direction: exact count, sum, min,
// max and spread beside the histogram. Owned by one job; merged after the run.
#pragma once

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>

#include "base/histogram.h"

namespace blkfair {

// Sums of squares outgrow 64 bits within seconds. (ISO C++ has no such type: hence the marker.)
__extension__ using Uint128 = unsigned __int128;

class LatencyStats {
 public:
  LatencyStats() = default;
  explicit LatencyStats(std::pmr::memory_resource* memory) : histogram_(memory) {}

  // One sample, or `n` equal ones. `ns` must be >= 0.
  void Add(int64_t ns, uint64_t n = 1) {
    histogram_.Add(ns, n);
    AddMoments(ns, n);
  }
  // The same for ns < 2^Histogram::kMaxBits.
  void AddInRange(int64_t ns, uint64_t n = 1) {
    histogram_.AddInRange(ns, n);
    AddMoments(ns, n);
  }
  void Merge(const LatencyStats& other);

  uint64_t count() const { return count_; }
  uint64_t sum_ns() const { return sum_ns_; }
  // Absent (not zero) while there is no sample.
  std::optional<int64_t> min_ns() const;
  std::optional<int64_t> max_ns() const;
  std::optional<double> mean_ns() const;
  std::optional<double> stddev_ns() const;  // population form; absent below 2 samples
  // The histogram's quantile, kept within [min, max], so that p(i) <= p(i+1) <= max.
  std::optional<Histogram::Percentile> Quantile(double p) const;
  const Histogram& histogram() const { return histogram_; }

  // Rebuilds stats from their stored form (results/record); stddev_ns() is then the one given, if
  // it is one that `count` samples with this sum can have. min, max and stddev are not looked at
  // where count leaves them absent.
  static LatencyStats Restore(Histogram histogram, uint64_t count, uint64_t sum_ns, int64_t min_ns,
                              int64_t max_ns, double stddev_ns);

 private:
  void AddMoments(int64_t ns, uint64_t n) {
    const auto u = static_cast<uint64_t>(ns);
    count_ += n;
    sum_ns_ += u * n;
    sum_squares_ += static_cast<Uint128>(u) * u * n;
    if (ns < min_ns_) min_ns_ = ns;
    if (ns > max_ns_) max_ns_ = ns;
  }

  Histogram histogram_;
  // Apart from sum_ns_: side by side g++ adds to both at once, with three times the instructions.
  uint64_t count_ = 0;
  int64_t min_ns_ = std::numeric_limits<int64_t>::max();
  int64_t max_ns_ = 0;
  uint64_t sum_ns_ = 0;
  Uint128 sum_squares_ = 0;
};

}  // namespace blkfair
