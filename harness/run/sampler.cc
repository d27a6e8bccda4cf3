#include "harness/run/sampler.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engines/wait.h"
#include "harness/run/placement.h"

namespace blkfair {

namespace {

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

// Away from the jobs, where they leave a place; where it then is.
std::string TakePlace(const PhasePlan& plan) {
  const std::vector<uint32_t> cpus = CpusOfNobody(plan);
  // Where it cannot be moved it stays: the record says where it was allowed to run.
  if (!cpus.empty()) static_cast<void>(PinThisThread(cpus));
  return CpuListText(AllowedCpus());
}

// What is due at a moment is done then, however many jobs want the CPU: it is a matter of some
// microseconds for each queue. Without the privilege it waits its turn, and the record says when.
void GoBeforeTheJobs() {
  sched_param param = {};
  param.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
  ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &param);
}

}  // namespace

Sampler::Sampler(const PhasePlan& plan, const PhaseHooks& hooks, const PhaseTimes& times,
                 const JobClock& clock)
    : plan_(plan), hooks_(hooks), times_(times), clock_(clock) {
  if (hooks.sample && plan.sample_interval_ns > 0) {
    samples_ = std::jthread([this](const std::stop_token& stop) {
      cost_.cpus = TakePlace(plan_);
      SampleAll(stop);
      cost_.cpu_ns = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
    });
  }
  if (hooks.window_opens || hooks.window_closes) {
    ends_ = std::jthread([this](const std::stop_token& stop) {
      GoBeforeTheJobs();
      ends_cpus_ = TakePlace(plan_);
      ReadEnds(stop);
      ends_cpu_ns_ = ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
    });
  }
}

std::optional<SamplingRecord> Sampler::Stop() {
  if (!samples_.joinable() && !ends_.joinable()) return std::nullopt;
  for (std::jthread* thread : {&samples_, &ends_}) {
    if (!thread->joinable()) continue;
    thread->request_stop();
    thread->join();
  }
  cost_.cpu_ns += ends_cpu_ns_;
  if (cost_.cpus.empty()) cost_.cpus = ends_cpus_;
  if (cost_.samples > 0) cost_.time_mean_ns = time_sum_ns_ / cost_.samples;
  return std::move(cost_);
}

void Sampler::SampleAll(const std::stop_token& stop) {
  while (true) {
    const int64_t next_ns = times_.barrier_ns + SampleMomentNs(index_, plan_.sample_interval_ns);
    if (next_ns >= times_.close_ns || !WaitUntil(next_ns, stop)) return;
    Sample();
  }
}

void Sampler::ReadEnds(const std::stop_token& stop) {
  if (hooks_.window_opens) {
    if (!WaitUntil(times_.open_ns, stop)) return;
    hooks_.window_opens(ReadNs(clock_) - times_.barrier_ns);
  }
  if (hooks_.window_closes) {
    if (!WaitUntil(times_.close_ns, stop)) return;
    hooks_.window_closes(ReadNs(clock_) - times_.barrier_ns);
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
