#include "results/fairness/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/units.h"
#include "results/fairness/censored.h"

namespace blkfair {

namespace {

using Unit = MetricValue::Unit;

#define BLKFAIR_LATENCY_METRICS(c, cls, of)                                                    \
  {c "_mean", MetricKind::kMean, Unit::kNanoseconds, false, "mean " of, cls},                  \
      {c "_min", MetricKind::kMin, Unit::kNanoseconds, false, "shortest " of, cls},            \
      {c "_max", MetricKind::kMax, Unit::kNanoseconds, false, "longest " of, cls},             \
      {c "_stddev", MetricKind::kStddev, Unit::kNanoseconds, false, "spread of the " of, cls}, \
      {c "_p50", MetricKind::kPercentile, Unit::kNanoseconds, false, "median " of, cls, 0.50}, \
      {c "_p90", MetricKind::kPercentile, Unit::kNanoseconds, false, "p90 " of, cls, 0.90},    \
      {c "_p95", MetricKind::kPercentile, Unit::kNanoseconds, false, "p95 " of, cls, 0.95},    \
      {c "_p99", MetricKind::kPercentile, Unit::kNanoseconds, false, "p99 " of, cls, 0.99}, {  \
    c "_p99.9", MetricKind::kPercentile, Unit::kNanoseconds, false, "p99.9 " of, cls, 0.999    \
  }

constexpr auto kMetrics = std::to_array<MetricInfo>({
    {"iops", MetricKind::kIops, Unit::kNone, true, "I/Os completed per second of the window"},
    {"bw", MetricKind::kBandwidth, Unit::kBytes, true, "bytes per second of the window"},
    {"errors", MetricKind::kErrors, Unit::kNone, false, "I/Os that failed or came back short"},
    {"gap", MetricKind::kGap, Unit::kNanoseconds, false,
     "longest time without a completion, one still going on at the end included"},
    {"tags", MetricKind::kTags, Unit::kNone, true, "tags held, mean over time"},
    {"depth", MetricKind::kDepth, Unit::kNone, true, "I/Os in flight, mean over time"},
    {"share_p5", MetricKind::kShare, Unit::kNone, true,
     "part of all I/Os of the phase, taken for each cell of the series: its fifth percentile",
     LatencyClass::kNone, 0.05},
    {"cpu", MetricKind::kCpu, Unit::kNanoseconds, false,
     "CPU time of the job's threads per I/O, those of the kernel's own workers left out"},
    BLKFAIR_LATENCY_METRICS("lat", LatencyClass::kLat, "latency, from made to completed"),
    BLKFAIR_LATENCY_METRICS("slat", LatencyClass::kSlat, "submission latency"),
    BLKFAIR_LATENCY_METRICS("clat", LatencyClass::kClat, "completion latency"),
    BLKFAIR_LATENCY_METRICS("response", LatencyClass::kResponse,
                            "time from when an I/O was due to its completion (rate_iops)"),
});

const LatencyStats* StatsOf(LatencyClass latency, const DirectionRecord& direction) {
  switch (latency) {
    case LatencyClass::kSlat:
      return direction.slat ? &*direction.slat : nullptr;
    case LatencyClass::kClat:
      return &direction.clat;
    case LatencyClass::kLat:
      return &direction.lat;
    case LatencyClass::kResponse:
      return direction.response ? &*direction.response : nullptr;
    case LatencyClass::kNone:
      break;
  }
  CHECK(false);
}

Reading Absent(const Reading& base, std::string why) {
  Reading reading = base;
  reading.absent = std::move(why);
  return reading;
}

Reading Value(const Reading& base, double value) {
  Reading reading = base;
  reading.value = value;
  return reading;
}

Reading AtLeast(const Reading& base, double least, std::string why) {
  Reading reading = base;
  reading.at_least = least;
  reading.absent = std::move(why);
  return reading;
}

Reading ReadTags(const Reading& base, const Subject& subject) {
  const QueueRecord* queue = subject.queue;
  if (queue == nullptr) {
    queue = subject.phase->FindQueue(subject.jobs.front()->queue);
    const bool alone = std::all_of(
        subject.phase->jobs.begin(), subject.phase->jobs.end(), [&](const JobRecord& job) {
          return job.queue != subject.jobs.front()->queue ||
                 std::find(subject.jobs.begin(), subject.jobs.end(), &job) != subject.jobs.end();
        });
    if (!alone) {
      return Absent(base, fmt::format("others hold tags of {} too: ask for the tags of the queue",
                                      subject.jobs.front()->queue));
    }
  }
  if (queue == nullptr || !queue->occupancy || !queue->occupancy->mean) {
    return Absent(base, fmt::format("the tags that {} held were not sampled", subject.name));
  }
  return Value(base, *queue->occupancy->mean);
}

Reading ReadPercentile(const Reading& base, const MetricInfo& metric, const LatencyStats& stats,
                       const Subject& subject) {
  if (const auto percentile = stats.Quantile(metric.p)) {
    if (percentile->at_least) {
      Reading reading =
          AtLeast(base, static_cast<double>(percentile->ns),
                  fmt::format("{} of {} is >= {}: beyond the histogram", metric.name, subject.name,
                              HumanDuration(static_cast<double>(percentile->ns))));
      reading.saturated = true;
      return reading;
    }
    return Value(base, static_cast<double>(percentile->ns));
  }
  const double needed = std::ceil(10 / (1 - metric.p) - 1e-6);
  const double seconds = static_cast<double>(subject.phase->window_ns()) * 1e-9 * needed /
                         static_cast<double>(stats.count());
  return Absent(base,
                fmt::format("{} needs {} I/Os and {} completed {}: a runtime of {:.0f}s "
                            "would do",
                            metric.name, needed, subject.name, stats.count(), std::ceil(seconds)));
}

// Of the latencies that completed. `stats` is not empty.
Reading ReadCompleted(const Reading& base, const MetricInfo& metric, const LatencyStats& stats,
                      const Subject& subject) {
  switch (metric.kind) {
    case MetricKind::kMean:
      return Value(base, *stats.mean_ns());
    case MetricKind::kMin:
      return Value(base, static_cast<double>(*stats.min_ns()));
    case MetricKind::kMax:
      return Value(base, static_cast<double>(*stats.max_ns()));
    case MetricKind::kStddev:
      if (!stats.stddev_ns()) return Absent(base, "a spread needs two I/Os, and one completed");
      return Value(base, *stats.stddev_ns());
    default:
      return ReadPercentile(base, metric, stats, subject);
  }
}

std::optional<Censored::AtLeast> CensoredFigure(const Censored& censored, const MetricInfo& metric,
                                                const LatencyStats& stats, double value) {
  switch (metric.kind) {
    case MetricKind::kMean:
    case MetricKind::kStddev:
      return censored.Mean(stats);
    case MetricKind::kMax:
      return censored.Max(stats);
    case MetricKind::kPercentile:
      return censored.Percentile(stats, metric.p, static_cast<int64_t>(value));
    default:
      return std::nullopt;
  }
}

Reading ReadLatency(const Reading& base, const MetricInfo& metric, const Subject& subject) {
  const std::optional<LatencyStats> stats = MergedLatency(metric.latency, subject);
  if (!stats && metric.latency == LatencyClass::kResponse) {
    return Absent(base, fmt::format("{} is measured of jobs with rate_iops, and {} has none",
                                    metric.name, subject.name));
  }
  if (!stats) {
    return Absent(base, fmt::format("{} is not measured by engine {}", metric.name,
                                    subject.jobs.front()->engine));
  }
  if (stats->count() == 0) {
    return Absent(base, fmt::format("{} completed nothing in the window", subject.name));
  }
  Reading reading = ReadCompleted(base, metric, *stats, subject);
  if (!reading.value) return reading;
  const double value = *reading.value;
  const Censored censored(metric.latency, subject);
  if (const auto least = CensoredFigure(censored, metric, *stats, value)) {
    const std::string what = fmt::format(
        "{} I/Os that had begun, or were due, and had taken longer than most were "
        "not complete when the window closed",
        std::max<uint64_t>(least->ios, 1));
    if (metric.kind == MetricKind::kStddev) {
      return Absent(base,
                    fmt::format("{} of {} is not known: {}", metric.name, subject.name, what));
    }
    return AtLeast(base, least->ns,
                   fmt::format("{} of {} is >= {}: {}", metric.name, subject.name,
                               HumanDuration(least->ns), what));
  }
  if (value > static_cast<double>(subject.phase->window_ns())) {
    return AtLeast(base, value,
                   fmt::format("{} of {} is >= {}: longer than the window of {}, which sees little "
                               "of such I/Os: a runtime of {} would do",
                               metric.name, subject.name, HumanDuration(value),
                               HumanDuration(static_cast<double>(subject.phase->window_ns())),
                               HumanDuration(10 * value)));
  }
  return reading;
}

Reading ReadGap(const Reading& base, const Subject& subject) {
  int64_t gap_ns = 0;
  if (subject.queue != nullptr) {
    gap_ns = subject.queue->gap_max_ns;
  } else {
    for (const JobRecord* job : subject.jobs) gap_ns = std::max(gap_ns, job->gap_max_ns);
  }
  return Value(base, static_cast<double>(gap_ns));
}

// Completions of jobs in each cell that lies in the window as a whole, added to `cells`.
void AddCells(const PhaseRecord& phase, std::span<const JobRecord* const> jobs,
              std::vector<uint64_t>* cells) {
  const int64_t cell_ns = phase.series_cell_ns;
  const auto first = static_cast<size_t>((phase.window_open_ns + cell_ns - 1) / cell_ns);
  const auto end = static_cast<size_t>(phase.window_close_ns / cell_ns);
  if (end > first) cells->resize(end - first);
  for (const JobRecord* job : jobs) {
    for (size_t i = first; i < std::min(end, job->series.size()); i++) {
      (*cells)[i - first] += job->series[i].ios;
    }
  }
}

Reading ReadShare(const Reading& base, const MetricInfo& metric, const Subject& subject) {
  const PhaseRecord& phase = *subject.phase;
  std::vector<const JobRecord*> everyone;
  for (const JobRecord& job : phase.jobs) {
    if (job.directions.empty() || !IsTrim(job.directions.front())) everyone.push_back(&job);
  }
  std::vector<uint64_t> all;
  std::vector<uint64_t> own;
  AddCells(phase, everyone, &all);
  AddCells(phase, subject.jobs, &own);
  std::vector<double> shares;  // of cells in which anything completed
  for (size_t i = 0; i < all.size(); i++) {
    if (all[i] > 0) shares.push_back(static_cast<double>(own[i]) / static_cast<double>(all[i]));
  }
  const double needed = std::ceil(10 / metric.p - 1e-6);
  if (static_cast<double>(shares.size()) < needed) {
    const double cell_s = static_cast<double>(phase.series_cell_ns) * 1e-9;
    return Absent(base, fmt::format("{} needs {} cells of the series with I/Os in them, and the "
                                    "window had {}: a runtime of {:g}s would do",
                                    metric.name, needed, shares.size(), needed * cell_s));
  }
  const auto rank = static_cast<size_t>(std::ceil(metric.p * static_cast<double>(shares.size())));
  std::nth_element(shares.begin(), shares.begin() + static_cast<ptrdiff_t>(rank) - 1, shares.end());
  return Value(base, shares[rank - 1]);
}

// CPU time is counted over the whole phase, so all I/Os of the phase share it.
Reading ReadCpu(const Reading& base, const Subject& subject) {
  int64_t cpu_ns = 0;
  uint64_t ios = base.ios;
  for (const JobRecord* job : subject.jobs) {
    cpu_ns += job->cpu_user_ns + job->cpu_system_ns;
    ios += job->ios_trimmed + job->ios_drained;
  }
  if (cpu_ns == 0) return Absent(base, "the CPU time of " + subject.name + " was not measured");
  if (ios == 0) return Absent(base, subject.name + " completed nothing in the phase");
  return Value(base, static_cast<double>(cpu_ns) / static_cast<double>(ios));
}

}  // namespace

std::span<const MetricInfo> AllMetrics() { return kMetrics; }

const MetricInfo& MetricByName(std::string_view name) {
  const auto it = std::find_if(kMetrics.begin(), kMetrics.end(),
                               [&](const MetricInfo& metric) { return metric.name == name; });
  CHECK(it != kMetrics.end());
  return *it;
}

std::optional<Subject> FindSubject(const PhaseRecord& phase, std::string_view name) {
  Subject subject{std::string(name), &phase, phase.FindQueue(name), {}};
  std::vector<const JobRecord*> trimming;  // the queue: told by it if nothing else is there
  for (const JobRecord& job : phase.jobs) {
    if (subject.queue != nullptr ? job.queue != name : job.job != name) continue;
    const bool trims = !job.directions.empty() && IsTrim(job.directions.front());
    (trims ? trimming : subject.jobs).push_back(&job);
  }
  if (subject.jobs.empty()) subject.jobs = std::move(trimming);
  if (subject.jobs.empty()) return std::nullopt;
  return subject;
}

std::vector<Subject> ClonesOf(const PhaseRecord& phase, std::string_view job) {
  std::vector<Subject> clones;
  for (const JobRecord& record : phase.jobs) {
    if (record.job != job) continue;
    clones.push_back(Subject{.name = fmt::format("{}[{}]", job, record.clone),
                             .phase = &phase,
                             .queue = nullptr,
                             .jobs = {&record}});
  }
  return clones;
}

std::optional<LatencyStats> MergedLatency(LatencyClass latency, const Subject& subject) {
  LatencyStats merged;
  for (const JobRecord* job : subject.jobs) {
    for (const DirectionRecord& direction : job->directions) {
      const LatencyStats* stats = StatsOf(latency, direction);
      if (stats == nullptr) return std::nullopt;
      merged.Merge(*stats);
    }
  }
  return merged;
}

uint64_t IosOf(const Subject& subject) {
  uint64_t ios = 0;
  for (const JobRecord* job : subject.jobs) {
    for (const DirectionRecord& direction : job->directions) ios += direction.ios;
  }
  return ios;
}

uint64_t BytesOf(const Subject& subject) {
  uint64_t bytes = 0;
  for (const JobRecord* job : subject.jobs) {
    for (const DirectionRecord& direction : job->directions) bytes += direction.bytes;
  }
  return bytes;
}

uint64_t ErrorsOf(const Subject& subject) {
  uint64_t errors = 0;
  for (const JobRecord* job : subject.jobs) {
    for (const auto& [what, count] : job->errors) errors += count;
  }
  return errors;
}

Reading ReadMetric(const MetricInfo& metric, const Subject& subject) {
  Reading base;
  base.ios = IosOf(subject);
  const double window_s = static_cast<double>(subject.phase->window_ns()) * 1e-9;
  if (window_s <= 0) return Absent(base, "the phase has no window: nothing was measured");
  base.starved = base.ios == 0 &&
                 std::any_of(subject.jobs.begin(), subject.jobs.end(), [](const JobRecord* job) {
                   return job->in_flight_at_close > 0 || job->outstanding > 0;
                 });
  switch (metric.kind) {
    case MetricKind::kErrors:
      return Value(base, static_cast<double>(ErrorsOf(subject)));
    case MetricKind::kGap:
      return ReadGap(base, subject);
    case MetricKind::kTags:
      return ReadTags(base, subject);
    case MetricKind::kShare:
      return ReadShare(base, metric, subject);
    case MetricKind::kCpu:
      return ReadCpu(base, subject);
    case MetricKind::kDepth: {
      double depth = 0;
      for (const JobRecord* job : subject.jobs) depth += job->depth_mean;
      return Value(base, depth);
    }
    case MetricKind::kIops:
    case MetricKind::kBandwidth:
      if (std::any_of(subject.jobs.begin(), subject.jobs.end(),
                      [](const JobRecord* job) { return job->directions.empty(); })) {
        return Absent(base, fmt::format("a worker of {} was given up: what it completed is not "
                                        "known",
                                        subject.name));
      }
      if (base.ios == 0 && !base.starved) {
        return Absent(base, fmt::format("{} did no I/O in the window", subject.name));
      }
      return Value(base, static_cast<double>(metric.kind == MetricKind::kIops ? base.ios
                                                                              : BytesOf(subject)) /
                             window_s);
    default:
      return ReadLatency(base, metric, subject);
  }
}

std::string FormatMetric(const MetricInfo& metric, double value) {
  switch (metric.unit) {
    case Unit::kNanoseconds:
      return HumanDuration(value);
    case Unit::kBytes:
      return HumanBytesPerSecond(value);
    case Unit::kNone:
    case Unit::kFraction:
      break;
  }
  return HumanCount(value);
}

}  // namespace blkfair
