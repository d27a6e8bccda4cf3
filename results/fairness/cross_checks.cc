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
// How late the counters may be read, of the window, for their figures to be those of the window.
constexpr double kReadLateMax = 0.02;
// Eight standard deviations of so many draws of one in two, at most.
constexpr double kSpreadOfDraws = 4;

// What the jobs on a queue counted of one direction, from the first reading of the counters on.
struct OurCounts {
  double ios = 0;
  double bytes = 0;
  double bytes_each = 0;    // the largest of one I/O
  uint64_t ios_window = 0;  // in the whole window
  uint64_t apart_max = 0;   // I/Os by which the two may differ, had the counters been read in time
  double doubt = 0;         // and by how many more, since they were not
};

// I/Os of a job that the kernel had completed before its counters were read.
struct Missed {
  double ios = 0;
  double doubt = 0;
};

// A part of a cell may hold nothing of what completed in it, or twice its share, since completions
// come in bursts.
Missed MissedBy(const PhaseRecord& phase, const JobRecord& job, uint64_t ios_window,
                int64_t read_ns) {
  const int64_t to_ns = std::min(read_ns, phase.window_close_ns);
  Missed missed;
  if (to_ns <= phase.window_open_ns) return missed;
  const int64_t cell_ns = phase.series_cell_ns;
  if (cell_ns <= 0 || static_cast<int64_t>(job.series.size()) < (to_ns + cell_ns - 1) / cell_ns) {
    missed.ios = static_cast<double>(ios_window) *
                 static_cast<double>(to_ns - phase.window_open_ns) /
                 static_cast<double>(phase.window_ns());
    missed.doubt = missed.ios;
    return missed;
  }
  for (int64_t from_ns = phase.window_open_ns; from_ns < to_ns;) {
    const int64_t cell = from_ns / cell_ns;
    const int64_t begin_ns = cell * cell_ns;
    const int64_t end_ns = std::min(begin_ns + cell_ns, phase.window_close_ns);
    const int64_t until_ns = std::min(end_ns, to_ns);
    const double part =
        static_cast<double>(until_ns - from_ns) / static_cast<double>(end_ns - begin_ns);
    const double ios = part * static_cast<double>(job.series[static_cast<size_t>(cell)].ios);
    missed.ios += ios;
    if (part < 1) missed.doubt += ios;
    from_ns = until_ns;
  }
  return missed;
}

void AddOurs(const PhaseRecord& phase, const JobRecord& job, const DirectionRecord& record,
             int64_t read_ns, OurCounts* ours) {
  if (record.ios == 0) return;
  uint64_t ios_all = 0;
  for (const DirectionRecord& each : job.directions) ios_all += each.ios;
  Missed missed = MissedBy(phase, job, ios_all, read_ns);
  if (record.ios < ios_all) {
    // The series does not tell reads and writes apart; which is which is drawn for each I/O.
    const double part = static_cast<double>(record.ios) / static_cast<double>(ios_all);
    missed.doubt = part * missed.doubt + kSpreadOfDraws * std::sqrt(missed.ios);
    missed.ios *= part;
  }
  const auto ios = static_cast<double>(record.ios);
  const double bytes_each = static_cast<double>(record.bytes) / ios;
  ours->ios_window += record.ios;
  ours->ios += ios - missed.ios;
  ours->bytes += (ios - missed.ios) * bytes_each;
  ours->bytes_each = std::max(ours->bytes_each, bytes_each);
  ours->doubt += missed.doubt;
}

// In flight at an end of the window are I/Os that one side has counted and the other has not. Those
// at the open and those at the close differ in sign, so that the larger of both is the bound; what
// completes after the close, until the counters are read, was in flight at it.
OurCounts CountOurs(const PhaseRecord& phase, const QueueRecord& queue,
                    const std::string& direction) {
  OurCounts ours;
  for (const JobRecord& job : phase.jobs) {
    if (job.queue != queue.queue || !ReachesTheDevice(job)) continue;
    ours.apart_max += job.iodepth;
    for (const DirectionRecord& record : job.directions) {
      if (record.direction == direction) {
        AddOurs(phase, job, record, queue.kernel->open_at_ns, &ours);
      }
    }
    for (const auto& [what, count] : job.errors) {
      if (what.starts_with(direction)) ours.apart_max += count;
    }
  }
  return ours;
}

struct Counters {
  std::optional<std::string> why_disagree;
  bool checked = true;  // false: read so late that a disagreement could not have been found
};

Counters CheckCounters(const PhaseRecord& phase, const QueueRecord& queue) {
  Counters result;
  for (const KernelCountsRecord& kernel : queue.kernel->counts) {
    OurCounts ours = CountOurs(phase, queue, kernel.direction);
    if (ours.bytes_each <= 0 && kernel.requests > 0) {
      ours.bytes_each = static_cast<double>(kernel.bytes) / static_cast<double>(kernel.requests);
    }
    const double apart_max = static_cast<double>(ours.apart_max) + std::ceil(ours.doubt);
    const double apart = std::abs(static_cast<double>(kernel.bytes) - ours.bytes);
    // Half a byte: what was divided and multiplied again.
    if (apart <= apart_max * ours.bytes_each + 0.5) {
      if (ours.ios <= apart_max && ours.ios_window > ours.apart_max) result.checked = false;
      continue;
    }
    result.why_disagree = fmt::format(
        "{} in phase {}: the kernel counted {} {}s of {}, the jobs {:.0f} of {}, and {:.0f} in "
        "flight may lie between them: somebody else used it, or one of the two counts is wrong",
        queue.queue, phase.name, kernel.requests + kernel.merges, kernel.direction,
        FormatSize(static_cast<int64_t>(kernel.bytes)), ours.ios,
        FormatSize(ours.ios < 0.5 ? 0 : std::llround(ours.bytes / ours.ios * std::round(ours.ios))),
        apart_max);
    return result;
  }
  return result;
}

std::optional<std::string> WhyTagsDisagree(const Scenario& scenario, const PhaseRecord& phase,
                                           const QueueRecord& queue) {
  const OccupancyRecord& occupancy = *queue.occupancy;
  const std::optional<double> service = TagsByService(scenario, phase, queue);
  if (!occupancy.mean || !service || occupancy.samples < kFewestSamples) return std::nullopt;
  const double apart = std::abs(*occupancy.mean - *service);
  const double allowed = std::max(kFewTags, kTagsApart * std::max(*occupancy.mean, *service));
  if (apart <= allowed) return std::nullopt;
  return fmt::format(
      "{} in phase {} held {:.1f} tags as \"{}\" counts them, and throughput x service of the "
      "kernel's counters makes {:.1f}",
      queue.queue, phase.name, *occupancy.mean, occupancy.source, *service);
}

}  // namespace

bool ReachesTheDevice(const JobRecord& job) { return job.engine != "null"; }

// Passthrough commands are no block I/O (blk_do_io_stat, block/blk.h), and the page cache does I/O
// of its own.
bool PassesByTheCounters(const Scenario& scenario, const PhaseRecord& phase,
                         const std::string& queue) {
  return std::any_of(phase.jobs.begin(), phase.jobs.end(), [&](const JobRecord& job) {
    if (job.queue != queue || !ReachesTheDevice(job)) return false;
    const JobSpec* spec = scenario.JobInPhase(phase.name, job.job);
    return job.engine == "io_uring_cmd" || spec == nullptr || !spec->direct;
  });
}

int64_t CountersLateNs(const PhaseRecord& phase, const KernelCountersRecord& kernel) {
  return std::max<int64_t>(
      {0, kernel.open_at_ns - phase.window_open_ns, kernel.close_at_ns - phase.window_close_ns});
}

std::optional<std::string> WhyNoService(const Scenario& scenario, const PhaseRecord& phase,
                                        const QueueRecord& queue) {
  if (!queue.kernel) return queue.kernel_absent;
  if (!queue.kernel->time_is_tag_time) return "requests exist without a tag";
  if (PassesByTheCounters(scenario, phase, queue.queue)) {
    return "passthrough and the page cache pass by the kernel's counters";
  }
  const int64_t late_ns = CountersLateNs(phase, *queue.kernel);
  if (static_cast<double>(late_ns) <= kReadLateMax * static_cast<double>(phase.window_ns())) {
    return std::nullopt;
  }
  return fmt::format("the kernel's counters were read {} late",
                     HumanDuration(static_cast<double>(late_ns)));
}

std::optional<double> TagsByService(const Scenario& scenario, const PhaseRecord& phase,
                                    const QueueRecord& queue) {
  if (!queue.occupancy || WhyNoService(scenario, phase, queue)) return std::nullopt;
  return queue.occupancy->service_mean;
}

std::vector<std::pair<std::string, std::string>> CounterWarnings(const Scenario& scenario,
                                                                 const PhaseRecord& phase) {
  std::vector<std::pair<std::string, std::string>> warnings;
  if (phase.window_ns() <= 0) return warnings;
  std::string unchecked;  // the first of the queues whose counters were not
  size_t more = 0;
  int64_t late_ns = 0;
  for (const QueueRecord& queue : phase.queues) {
    if (!queue.kernel || PassesByTheCounters(scenario, phase, queue.queue)) continue;
    Counters counters = CheckCounters(phase, queue);
    if (counters.why_disagree) {
      warnings.emplace_back("counts of " + queue.queue, std::move(*counters.why_disagree));
    } else if (!counters.checked) {
      more += unchecked.empty() ? 0 : 1;
      if (unchecked.empty()) unchecked = queue.queue;
      late_ns = std::max(late_ns, CountersLateNs(phase, *queue.kernel));
    }
    if (!queue.occupancy) continue;
    if (auto why = WhyTagsDisagree(scenario, phase, queue)) {
      warnings.emplace_back("tags of " + queue.queue, std::move(*why));
    }
  }
  if (unchecked.empty()) return warnings;
  warnings.emplace_back(
      "counts not checked",
      fmt::format("the I/Os of {}{} in phase {} were not held against the kernel's counters, which "
                  "were read {} late",
                  unchecked,
                  more == 0 ? "" : fmt::format(" and {} other queue{}", more, more == 1 ? "" : "s"),
                  phase.name, HumanDuration(static_cast<double>(late_ns))));
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
