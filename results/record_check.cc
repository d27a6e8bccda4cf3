#include "results/record_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "scenarios/language/canonical.h"

namespace blkfair {

namespace {

using Fault = std::optional<std::string>;

constexpr uint64_t kSectorBytes = 512;

Fault FaultOfDirection(const JobRecord& job, const DirectionRecord& direction) {
  const auto count = [&](const char* what, const LatencyStats& stats) -> Fault {
    if (stats.count() == direction.ios) return std::nullopt;
    return fmt::format("{} has {} {} I/Os and {} of their {}", job.job, direction.ios,
                       direction.direction, stats.count(), what);
  };
  if (auto fault = count("lat", direction.lat)) return fault;
  if (auto fault = count("clat", direction.clat)) return fault;
  // All I/Os of a job are of one size, of whole sectors; what was short is an error.
  const uint64_t each_bytes = direction.ios == 0 ? 0 : direction.bytes / direction.ios;
  if (direction.bytes != each_bytes * direction.ios || each_bytes % kSectorBytes != 0 ||
      (direction.ios > 0 && each_bytes == 0)) {
    return fmt::format("{} has {} bytes in {} {} I/Os", job.job, direction.bytes, direction.ios,
                       direction.direction);
  }
  if (!direction.slat) return std::nullopt;
  if (auto fault = count("slat", *direction.slat)) return fault;
  if (direction.slat->sum_ns() + direction.clat.sum_ns() == direction.lat.sum_ns()) {
    return std::nullopt;
  }
  return fmt::format("the sums of slat and clat of {} are not that of lat", job.job);
}

Fault FaultOfJob(const PhaseRecord& phase, const JobRecord& job) {
  for (const DirectionRecord& direction : job.directions) {
    if (auto fault = FaultOfDirection(job, direction)) return fault;
  }
  // A phase that was broken off has waits, and perhaps no window yet.
  if (job.gap_max_ns < 0 || job.gap_max_ns > phase.window_close_ns) {
    return fmt::format("{} waited {} ns in a phase of {} ns", job.job, job.gap_max_ns,
                       phase.window_close_ns);
  }
  if (job.gap_max_ns == 0 && phase.window_ns() > 0) {
    return fmt::format("{} never waited for a completion, and no clock is that coarse", job.job);
  }
  return std::nullopt;
}

// A queue is the sum of its jobs, but for those that trim.
Fault FaultOfQueue(const PhaseRecord& phase, const QueueRecord& queue) {
  uint64_t ios = 0;
  uint64_t bytes = 0;
  uint32_t demand = 0;
  for (const JobRecord& job : phase.jobs) {
    if (job.queue != queue.queue) continue;
    demand += job.iodepth;
    if (!job.directions.empty() && IsTrim(job.directions.front())) continue;
    for (const DirectionRecord& direction : job.directions) {
      ios += direction.ios;
      bytes += direction.bytes;
    }
  }
  if (ios == queue.ios && bytes == queue.bytes && demand == queue.demand) return std::nullopt;
  return fmt::format("{} has {} I/Os of {} bytes and a demand of {}, and its jobs {}, {} and {}",
                     queue.queue, queue.ios, queue.bytes, queue.demand, ios, bytes, demand);
}

Fault FaultOfPhase(const PhaseRecord& phase) {
  if (phase.window_open_ns < 0 || phase.window_close_ns < 0) return "a window began before time";
  if (phase.series_cell_ns <= 0) {
    return fmt::format("a cell of a series is {} ns long", phase.series_cell_ns);
  }
  std::set<std::pair<std::string, uint32_t>> jobs;
  for (const JobRecord& job : phase.jobs) {
    if (!jobs.emplace(job.job, job.clone).second) {
      return fmt::format("{}, clone {}, stands twice", job.job, job.clone);
    }
    if (auto fault = FaultOfJob(phase, job)) return fault;
  }
  std::set<std::string> queues;
  for (const QueueRecord& queue : phase.queues) {
    if (!queues.insert(queue.queue).second) return fmt::format("{} stands twice", queue.queue);
    if (auto fault = FaultOfQueue(phase, queue)) return fault;
  }
  for (const TagSetPhaseRecord& set : phase.tag_sets) {
    if (set.samples_contended <= set.samples) continue;
    return fmt::format("{} of {} samples of {} were contended", set.samples_contended, set.samples,
                       set.fixture);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FaultOfRecord(const Record& record) {
  if (ScenarioHash(record.scenario_toml) != record.scenario_hash) {
    return "scenario_hash is not that of scenario_toml: one of them was changed";
  }
  std::set<std::string> phases;
  for (const PhaseRecord& phase : record.phases) {
    if (!phases.insert(phase.name).second) return fmt::format("phase {} stands twice", phase.name);
    if (auto fault = FaultOfPhase(phase)) return fmt::format("phase {}: {}", phase.name, *fault);
  }
  return std::nullopt;
}

}  // namespace blkfair
