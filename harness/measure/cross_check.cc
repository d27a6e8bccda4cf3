#include "harness/measure/cross_check.h"

#include <algorithm>

#include "base/check.h"
#include "results/fairness/cross_checks.h"

namespace blkfair {

namespace {

// Little's law: each request was in flight for its time, so that the times of all that completed,
// divided by the time that passed, are how many were in flight at once.
std::optional<double> ThroughputTimesService(const KernelCountersRecord& kernel) {
  const int64_t passed_ns = kernel.close_at_ns - kernel.open_at_ns;
  if (!kernel.time_is_tag_time || passed_ns <= 0) return std::nullopt;
  int64_t time_ns = 0;
  for (const KernelCountsRecord& counts : kernel.counts) time_ns += counts.time_ns;
  return static_cast<double>(time_ns) / static_cast<double>(passed_ns);
}

// Whose I/Os in flight hold a tag or wait for one: the page cache begins its own.
bool WantsTags(const Scenario& scenario, const PhaseRecord& phase, const JobRecord& job) {
  const JobSpec* spec = scenario.JobInPhase(phase.name, job.job);
  return ReachesTheDevice(job) && (spec == nullptr || spec->direct);
}

}  // namespace

void CrossCheckOccupancy(const Scenario& scenario, PhaseRecord* phase) {
  CHECK(phase != nullptr);
  for (QueueRecord& queue : phase->queues) {
    if (!queue.occupancy) continue;
    OccupancyRecord& occupancy = *queue.occupancy;
    if (!WhyNoService(scenario, *phase, queue)) {
      occupancy.service_mean = ThroughputTimesService(*queue.kernel);
    }
    if (!occupancy.mean) continue;
    double in_flight = 0;
    bool any = false;
    for (const JobRecord& job : phase->jobs) {
      if (job.queue != queue.queue || !WantsTags(scenario, *phase, job)) continue;
      in_flight += job.depth_mean;
      any = true;
    }
    if (any) occupancy.waiting_mean = std::max(0.0, in_flight - *occupancy.mean);
  }
}

}  // namespace blkfair
