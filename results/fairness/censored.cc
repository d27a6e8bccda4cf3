#include "results/fairness/censored.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace blkfair {

namespace {

constexpr double kNoise = 2;               // standard errors
constexpr double kBuckets = 1 + 2. / 256;  // closer values are in neighbouring buckets

const Ages& AgesOf(LatencyClass latency, const UnfinishedRecord& unfinished) {
  switch (latency) {
    case LatencyClass::kClat:
      return unfinished.clat;
    case LatencyClass::kLat:
      return unfinished.lat;
    case LatencyClass::kResponse:
      return unfinished.response;
    case LatencyClass::kSlat:
    case LatencyClass::kNone:
      break;
  }
  CHECK(false);
}

uint64_t Beyond(const Ages& ages, int64_t ns) {
  uint64_t ios = 0;
  for (auto age = ages.rbegin(); age != ages.rend() && age->first > ns; ++age) ios += age->second;
  return ios;
}

struct Total {
  double ios = 0;
  double ns = 0;
};

Total TotalOf(const Ages& ages) {
  Total total;
  for (const auto& [ns, ios] : ages) {
    total.ios += static_cast<double>(ios);
    total.ns += static_cast<double>(ns) * static_cast<double>(ios);
  }
  return total;
}

}  // namespace

Censored::Censored(LatencyClass latency, const Subject& subject) {
  if (latency == LatencyClass::kSlat) return;
  for (const JobRecord* job : subject.jobs) {
    const Ages& at_open = AgesOf(latency, job->unfinished_at_open);
    const Ages& at_close = AgesOf(latency, job->unfinished_at_close);
    at_open_.insert(at_open_.end(), at_open.begin(), at_open.end());
    at_close_.insert(at_close_.end(), at_close.begin(), at_close.end());
  }
  std::sort(at_open_.begin(), at_open_.end());
  std::sort(at_close_.begin(), at_close_.end());
}

uint64_t Censored::Excess(int64_t ns) const {
  const uint64_t at_open = Beyond(at_open_, ns);
  return std::max(Beyond(at_close_, ns), at_open) - at_open;
}

// With those that are older than it among the others, the percentile is the least value at or below
// which there are enough of all.
std::optional<Censored::AtLeast> Censored::Percentile(const LatencyStats& completed, double p,
                                                      int64_t ns) const {
  const uint64_t excess = Excess(ns);
  const auto count = static_cast<double>(completed.count());
  // What they move its rank by, against what chance does.
  if (p * static_cast<double>(excess) <= kNoise * std::sqrt(p * (1 - p) * count)) {
    return std::nullopt;
  }
  const std::vector<std::pair<uint32_t, uint64_t>> buckets = completed.histogram().Sparse();
  std::set<int64_t> candidates = {ns};
  for (const auto& [bucket, ios] : buckets) candidates.insert(Histogram::BucketMiddle(bucket));
  for (const auto& [age_ns, ios] : at_close_) candidates.insert(age_ns);
  uint64_t below = 0;
  auto bucket = buckets.begin();
  int64_t least_ns = ns;
  for (const int64_t candidate : candidates) {
    for (; bucket != buckets.end() && Histogram::BucketStart(bucket->first) <= candidate;
         ++bucket) {
      below += bucket->second;
    }
    least_ns = candidate;
    const double all = count + static_cast<double>(Excess(candidate));
    if (candidate >= ns && static_cast<double>(below) >= p * all) break;
  }
  if (static_cast<double>(least_ns) <= static_cast<double>(ns) * kBuckets) return std::nullopt;
  return AtLeast{static_cast<double>(least_ns), excess};
}

// It is longer for certain where the median is: a backlog is as old as what completed, and grows.
std::optional<Censored::AtLeast> Censored::Mean(const LatencyStats& completed) const {
  const double mean = *completed.mean_ns();
  const auto count = static_cast<double>(completed.count());
  const Total open = TotalOf(at_open_);
  const Total close = TotalOf(at_close_);
  const double ios = count + std::max(0., close.ios - open.ios);
  const double least = (mean * count + std::max(0., close.ns - open.ns)) / ios;
  const double noise = kNoise * completed.stddev_ns().value_or(0) / std::sqrt(count);
  if (least > mean * kBuckets && least > mean + noise)
    return AtLeast{least, Excess(*completed.max_ns())};
  const auto median = completed.Quantile(0.5);
  if (!median || median->at_least || !Percentile(completed, 0.5, median->ns)) return std::nullopt;
  return AtLeast{std::max(mean, least), Excess(median->ns)};
}

std::optional<Censored::AtLeast> Censored::Max(const LatencyStats& completed) const {
  if (at_close_.empty() || at_close_.back().first <= *completed.max_ns()) return std::nullopt;
  return AtLeast{static_cast<double>(at_close_.back().first),
                 Beyond(at_close_, *completed.max_ns())};
}

}  // namespace blkfair
