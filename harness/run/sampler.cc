#include "harness/run/sampler.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engines/wait.h"
#include "harness/run/placement.h"

namespace blkfair {

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// How late a sampler that waits may notice that it is to stop.
constexpr int64_t kStopPollNs = 100'000'000;

// Where no job has said that it will run. All CPUs where one has said nothing, or all are taken.
std::vector<uint32_t> CpusOfNobody(const PhasePlan& plan) {
  std::vector<uint32_t> left = AllowedCpus();
  for (const JobPlan& job : plan.jobs) {
    if (job.spec->cpus.empty()) return {};
    std::erase_if(left, [&](uint32_t cpu) {
      const auto& taken = job.spec->cpus;
      return std::find(taken.begin(), taken.end(), cpu) != taken.end();
    });
  }
  return left;
}

}  // namespace

Sampler::Sampler(const PhasePlan& plan, const PhaseHooks& hooks, const PhaseTimes& times,
                 const JobClock& clock)
    : plan_(plan), hooks_(hooks), times_(times), clock_(clock) {
  if (!hooks.sample && !hooks.window_opens) return;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    const std::vector<uint32_t> cpus = CpusOfNobody(plan_);
    // Where it cannot be moved it stays: the record says where it was allowed to run.
    if (!cpus.empty()) static_cast<void>(PinThisThread(cpus));
    cost_.cpus = CpuListText(AllowedCpus());
    Loop(stop);
    cost_.cpu_ns = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
  });
}

std::optional<SamplingRecord> Sampler::Stop() {
  if (!thread_.joinable()) return std::nullopt;
  thread_.request_stop();
  thread_.join();
  if (cost_.samples > 0) cost_.time_mean_ns = time_sum_ns_ / cost_.samples;
  return std::move(cost_);
}

void Sampler::Loop(const std::stop_token& stop) {
  const bool samples = hooks_.sample && plan_.sample_interval_ns > 0;
  int64_t open_ns = hooks_.window_opens ? times_.open_ns : kNever;
  int64_t close_ns = hooks_.window_closes ? times_.close_ns : kNever;
  while (true) {
    int64_t sample_ns = kNever;
    if (samples) sample_ns = times_.barrier_ns + SampleMomentNs(index_, plan_.sample_interval_ns);
    if (sample_ns >= times_.close_ns) sample_ns = kNever;
    const int64_t next_ns = std::min({sample_ns, open_ns, close_ns});
    if (next_ns == kNever || !WaitUntil(next_ns, stop)) return;
    if (next_ns == open_ns) {
      hooks_.window_opens(ReadNs(clock_) - times_.barrier_ns);
      open_ns = kNever;
    } else if (next_ns == close_ns) {
      hooks_.window_closes(ReadNs(clock_) - times_.barrier_ns);
      close_ns = kNever;
    } else {
      Sample();
    }
  }
}

void Sampler::Sample() {
  const int64_t begin_ns = ReadNs(clock_);
  const int64_t at_ns = begin_ns - times_.barrier_ns;
  if (begin_ns < times_.close_ns) {
    hooks_.sample(at_ns);
    const int64_t took_ns = ReadNs(clock_) - begin_ns;
    cost_.samples++;
    time_sum_ns_ += took_ns;
    cost_.time_max_ns = std::max(cost_.time_max_ns, took_ns);
  }
  // Samples that this one was too slow for are left out, not caught up with.
  const int64_t passed = (ReadNs(clock_) - times_.barrier_ns) / plan_.sample_interval_ns;
  index_ = std::max(index_ + 1, static_cast<uint64_t>(std::max<int64_t>(passed, 0)));
}

// False: it is to stop.
bool Sampler::WaitUntil(int64_t at_ns, const std::stop_token& stop) const {
  const MonotonicClock clock;
  while (true) {
    const int64_t now_ns = clock.NowNs();
    // What is due is done: the jobs may have drained, and this be over, before the close was read.
    if (now_ns >= at_ns) return true;
    if (stop.stop_requested()) return false;
    SleepUntil(std::min(at_ns, now_ns + kStopPollNs));
  }
}

}  // namespace blkfair
