// Metrics: the figures that assertions and reports take from a Record, by name, with their unit and
// direction, in one place. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "results/record.h"

namespace blkfair {

enum class LatencyClass : uint8_t { kNone, kSlat, kClat, kLat, kResponse };
enum class MetricKind : uint8_t {
  kIops,
  kBandwidth,
  kErrors,
  kGap,
  kTags,
  kDepth,
  kShare,
  kCpu,
  // of a latency class
  kMean,
  kMin,
  kMax,
  kStddev,
  kPercentile,
};

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  MetricValue::Unit unit;  // of its values, and of the bounds that a scenario may give
  bool higher_is_better;
  std::string_view help;
  LatencyClass latency = LatencyClass::kNone;
  double p = 0;  // kShare and kPercentile only
};

#define BLKFAIR_LATENCY_CHOICES(c) \
  c "_mean|" c "_min|" c "_max|" c "_stddev|" c "_p50|" c "_p90|" c "_p95|" c "_p99|" c "_p99.9"
// What a parameter that names a metric may say.
inline constexpr std::string_view kMetricChoices = "iops|bw|errors|gap|tags|depth|share_p5|cpu|"  //
    BLKFAIR_LATENCY_CHOICES("lat") "|"                                                            //
    BLKFAIR_LATENCY_CHOICES("slat") "|"                                                           //
    BLKFAIR_LATENCY_CHOICES("clat") "|"                                                           //
    BLKFAIR_LATENCY_CHOICES("response");

std::span<const MetricInfo> AllMetrics();
// CHECK-fails on a name that is not one of kMetricChoices: the parameter table is the contract.
const MetricInfo& MetricByName(std::string_view name);

// What a metric is taken of, in one phase: a job with all its clones, one clone, or a queue with
// all its jobs. Points into the PhaseRecord.
struct Subject {
  std::string name;  // "light", "many[3]", "pair:0"
  const PhaseRecord* phase = nullptr;
  const QueueRecord* queue = nullptr;  // a queue; null for a job
  std::vector<const JobRecord*> jobs;  // never empty
};

// The job or queue of that name ("FIXTURE:INDEX"), if it had a part in the phase.
std::optional<Subject> FindSubject(const PhaseRecord& phase, std::string_view name);
// Each clone of a job for itself.
std::vector<Subject> ClonesOf(const PhaseRecord& phase, std::string_view job);

struct Reading {
  std::optional<double> value;  // in base units: ns, bytes per second, a count
  std::string absent;           // without a value: why, and what would settle it
  // Instead of a value: a latency that is no less than this. It lies beyond the histogram, or the
  // window cut off I/Os that would make it longer, or is itself shorter.
  std::optional<double> at_least;
  bool saturated = false;  // the histogram is why
  bool starved = false;    // nothing completed in the window, though I/Os were waiting
  uint64_t ios = 0;        // completions in the window that it rests on
};

Reading ReadMetric(const MetricInfo& metric, const Subject& subject);

// All latencies of one class of a subject, merged over directions and clones; absent where one of
// them does not measure it.
std::optional<LatencyStats> MergedLatency(LatencyClass latency, const Subject& subject);
uint64_t IosOf(const Subject& subject);
uint64_t BytesOf(const Subject& subject);
uint64_t ErrorsOf(const Subject& subject);

// For people: "311", "1.46 ms", "1.2 MiB/s".
std::string FormatMetric(const MetricInfo& metric, double value);

}  // namespace blkfair
