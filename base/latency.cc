#include "base/latency.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace blkfair {

namespace {

// Samples as deviations from the whole part of their mean: sum_i (x_i - q)^2 is exact in integers,
// where sum(x^2)/n - mean^2 in doubles would lose all digits of a narrow spread.
struct Centred {
  Uint128 quotient;
  double fraction;  // mean - quotient, in [0, 1)

  Centred(uint64_t sum_ns, uint64_t count)
      : quotient(sum_ns / count),
        fraction(static_cast<double>(sum_ns % count) / static_cast<double>(count)) {}

  // sum(x^2) - sum((x - q)^2).
  Uint128 Offset(uint64_t sum_ns, uint64_t count) const {
    return 2 * quotient * sum_ns - quotient * quotient * count;
  }
  // Never falls as `squared_deviations` rises, rounding included.
  double Stddev(Uint128 squared_deviations, uint64_t count) const {
    const double mean_square = static_cast<double>(squared_deviations) / static_cast<double>(count);
    return std::sqrt(std::max(0.0, mean_square - fraction * fraction));
  }
};

}  // namespace

void LatencyStats::Merge(const LatencyStats& other) {
  histogram_.Merge(other.histogram_);
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  sum_squares_ += other.sum_squares_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

std::optional<int64_t> LatencyStats::min_ns() const {
  if (count_ == 0) return std::nullopt;
  return min_ns_;
}

std::optional<int64_t> LatencyStats::max_ns() const {
  if (count_ == 0) return std::nullopt;
  return max_ns_;
}

std::optional<double> LatencyStats::mean_ns() const {
  if (count_ == 0) return std::nullopt;
  return static_cast<double>(sum_ns_) / static_cast<double>(count_);
}

std::optional<double> LatencyStats::stddev_ns() const {
  if (count_ < 2) return std::nullopt;
  const Centred centred(sum_ns_, count_);
  return centred.Stddev(sum_squares_ - centred.Offset(sum_ns_, count_), count_);
}

std::optional<Histogram::Percentile> LatencyStats::Quantile(double p) const {
  std::optional<Histogram::Percentile> percentile = histogram_.Quantile(p);
  if (percentile && !percentile->at_least) {
    percentile->ns = std::clamp(percentile->ns, min_ns_, max_ns_);
  }
  return percentile;
}

LatencyStats LatencyStats::Restore(Histogram histogram, uint64_t count, uint64_t sum_ns,
                                   int64_t min_ns, int64_t max_ns, double stddev_ns) {
  LatencyStats stats;
  stats.histogram_ = std::move(histogram);
  stats.count_ = count;
  stats.sum_ns_ = sum_ns;
  if (count == 0) return stats;
  stats.min_ns_ = min_ns;
  stats.max_ns_ = max_ns;
  // The smallest sum of squares that gives this stddev again, bit for bit: records that are read
  // and written once more must not change.
  const Centred centred(sum_ns, count);
  Uint128 low = 0;
  Uint128 high = Uint128{1} << 126;
  while (low < high) {
    const Uint128 middle = low + (high - low) / 2;
    if (centred.Stddev(middle, count) < stddev_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  stats.sum_squares_ = low + centred.Offset(sum_ns, count);
  return stats;
}

}  // namespace blkfair
