#include "results/fairness/cross_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/units.h"

namespace blkfair {

namespace {

constexpr double kGeneratorBusy = 0.95;  // of one CPU
constexpr double kDepthFull = 0.9;
// How far the tags that were sampled may be from throughput x service.
constexpr double kTagsApart = 0.25;
constexpr double kFewTags = 1;
constexpr uint32_t kFewestSamples = 10;

// What passes by the kernel's counters: passthrough commands are no block I/O
// (blk_do_io_stat, block/blk.h), and the page cache does I/O of its own.
bool PassesByTheCounters(const Scenario& scenario, const PhaseRecord& phase,
                         const std::string& queue) {
  return std::any_of(phase.jobs.begin(), phase.jobs.end(), [&](const JobRecord& job) {
    if (job.queue != queue) return false;
    const JobSpec* spec = scenario.JobInPhase(phase.name, job.job);
    return job.engine == "io_uring_cmd" || spec == nullptr || !spec->direct;
  });
}

// What the jobs on a queue counted of one direction.
struct OurCounts {
  uint64_t ios = 0;
  uint64_t bytes = 0;
  uint64_t largest_bytes = 0;  // of one I/O
  uint64_t apart_max = 0;      // I/Os by which the two may differ
};

// In flight at an end of the window are I/Os that one side has counted and the other has not. Those
// at the open and those at the close differ in sign, so that the larger of both is the bound. The
// kernel is read a little later than the window opens: what completed meanwhile, twice over, since
// completions come in bursts.
OurCounts CountOurs(const PhaseRecord& phase, const QueueRecord& queue,
                    const std::string& direction) {
  OurCounts ours;
  for (const JobRecord& job : phase.jobs) {
    if (job.queue != queue.queue) continue;
    for (const DirectionRecord& record : job.directions) {
      if (record.direction != direction) continue;
      ours.ios += record.ios;
      ours.bytes += record.bytes;
      if (record.ios > 0) {
        ours.largest_bytes = std::max(ours.largest_bytes, record.bytes / record.ios);
      }
    }
    for (const auto& [what, count] : job.errors) {
      if (what.starts_with(direction)) ours.apart_max += count;
    }
  }
  ours.apart_max += queue.demand;
  const int64_t late_ns = queue.kernel->open_at_ns - phase.window_open_ns;
  const double rate = static_cast<double>(ours.ios) / static_cast<double>(phase.window_ns());
  ours.apart_max += static_cast<uint64_t>(
      std::ceil(2 * rate * static_cast<double>(std::max<int64_t>(late_ns, 0))));
  return ours;
}

std::optional<std::string> WhyCountsDisagree(const PhaseRecord& phase, const QueueRecord& queue) {
  for (const KernelCountsRecord& kernel : queue.kernel->counts) {
    OurCounts ours = CountOurs(phase, queue, kernel.direction);
    if (ours.largest_bytes == 0 && kernel.requests > 0) {
      ours.largest_bytes = kernel.bytes / kernel.requests;
    }
    const uint64_t apart = std::max(ours.bytes, kernel.bytes) - std::min(ours.bytes, kernel.bytes);
    if (apart <= ours.apart_max * ours.largest_bytes) continue;
    return fmt::format(
        "{} in phase {}: the kernel counted {} {}s of {}, the jobs {} of {}, and {} in flight may "
        "lie between them: somebody else used it, or one of the two counts is wrong",
        queue.queue, phase.name, kernel.requests + kernel.merges, kernel.direction,
        FormatSize(static_cast<int64_t>(kernel.bytes)), ours.ios,
        FormatSize(static_cast<int64_t>(ours.bytes)), ours.apart_max);
  }
  return std::nullopt;
}

std::optional<std::string> WhyTagsDisagree(const PhaseRecord& phase, const QueueRecord& queue) {
  const OccupancyRecord& occupancy = *queue.occupancy;
  if (!occupancy.mean || !occupancy.service_mean || occupancy.samples < kFewestSamples) {
    return std::nullopt;
  }
  const double apart = std::abs(*occupancy.mean - *occupancy.service_mean);
  const double allowed =
      std::max(kFewTags, kTagsApart * std::max(*occupancy.mean, *occupancy.service_mean));
  if (apart <= allowed) return std::nullopt;
  return fmt::format(
      "{} in phase {} held {:.1f} tags as \"{}\" counts them, and throughput x service of the "
      "kernel's counters makes {:.1f}",
      queue.queue, phase.name, *occupancy.mean, occupancy.source, *occupancy.service_mean);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> CounterWarnings(const Scenario& scenario,
                                                                 const PhaseRecord& phase) {
  std::vector<std::pair<std::string, std::string>> warnings;
  if (phase.window_ns() <= 0) return warnings;
  for (const QueueRecord& queue : phase.queues) {
    if (!queue.kernel || PassesByTheCounters(scenario, phase, queue.queue)) continue;
    if (auto why = WhyCountsDisagree(phase, queue)) {
      warnings.emplace_back("counts of " + queue.queue, std::move(*why));
    }
    if (!queue.occupancy) continue;
    if (auto why = WhyTagsDisagree(phase, queue)) {
      warnings.emplace_back("tags of " + queue.queue, std::move(*why));
    }
  }
  return warnings;
}

double CpuFraction(const PhaseRecord& phase, const JobRecord& job) {
  if (phase.window_close_ns <= 0) return 0;
  return static_cast<double>(job.cpu_user_ns + job.cpu_system_ns) /
         static_cast<double>(phase.window_close_ns);
}

std::optional<std::string> WhyGeneratorBound(const PhaseRecord& phase, const JobRecord& job) {
  const double busy = CpuFraction(phase, job);
  if (busy <= kGeneratorBusy || job.depth_mean >= kDepthFull * job.iodepth) return std::nullopt;
  return fmt::format(
      "generator-bound: {} used {:.0f}% of a CPU in phase {} and kept {:.1f} of {} I/Os in flight, "
      "so that its rate is the generator's: larger batches, more clones or a slower device would "
      "settle it",
      job.job, 100 * busy, phase.name, job.depth_mean, job.iodepth);
}

}  // namespace blkfair
