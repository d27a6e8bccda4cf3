#include "harness/run/thread_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engines/wait.h"
#include "harness/run/job_setup.h"
#include "harness/run/job_workers.h"
#include "harness/run/placement.h"
#include "harness/run/preflight.h"
#include "harness/run/sampler.h"

namespace blkfair {

namespace {

constexpr int64_t kPollNs = 50'000'000;
constexpr int64_t kProgressNs = 500'000'000;
// From the moment that all engines are open to the barrier: time for every worker to wake up.
constexpr int64_t kStartMarginNs = 2'000'000;
constexpr int64_t kStartMarginPerJobNs = 50'000;
// Beyond the drain limit, at which a worker leaves by itself.
constexpr int64_t kGiveUpNs = 2'000'000'000;
// An early close lies this far ahead, so that every job sees it before it has come.
constexpr int64_t kCloseMarginNs = 60'000'000;

// What is waited for and planned here is so by CLOCK_MONOTONIC, with which the jobs' clock agrees.
int64_t Now() { return MonotonicClock().NowNs(); }

}  // namespace

Result<PhaseResult> ThreadExecutor::RunPhase(const PhasePlan& plan, const PhaseHooks& hooks) {
  CHECK(!plan.jobs.empty());
  ASSIGN_OR_RETURN(std::vector<JobSetup> setups, SetUpJobs(plan));
  for (const JobSetup& setup : setups) RETURN_IF_ERROR(CheckCpus(*setup.plan.spec));
  RETURN_IF_ERROR(CheckLimits(*fs_, setups));
  const JobClock clock = clock_.StartPhase();
  JobWorkers workers(std::move(setups), clock);
  RETURN_IF_ERROR(workers.Open());

  PhaseTimes times;
  times.barrier_ns =
      Now() + kStartMarginNs + kStartMarginPerJobNs * static_cast<int64_t>(plan.jobs.size());
  times.open_ns = times.barrier_ns + plan.ramp_ns;
  times.close_ns = times.open_ns + plan.runtime_ns;
  PhaseResult result;
  Sampler sampler(plan, hooks, times, clock);
  workers.Start(times);
  int64_t next_progress_ns = times.barrier_ns;
  while (!workers.WaitUntilDone(kPollNs)) {
    const int64_t now_ns = Now();
    if (hooks.progress && now_ns >= next_progress_ns) {
      hooks.progress(now_ns - times.barrier_ns);
      next_progress_ns += kProgressNs;
    }
    if (now_ns > workers.closing_ns() + plan.drain_limit_ns + kGiveUpNs) workers.GiveUp();
    if (!result.interrupted && now_ns + kCloseMarginNs < times.close_ns && hooks.interrupted &&
        hooks.interrupted()) {
      result.interrupted = true;
      workers.CloseAt(std::max(times.barrier_ns, now_ns + kCloseMarginNs));
    }
  }
  result.sampling = sampler.Stop();
  result.jobs = workers.Collect(&result.broken);
  // A clock that ran backwards may have closed it before the barrier.
  result.window_close_ns = std::max<int64_t>(0, workers.close_ns() - times.barrier_ns);
  result.window_open_ns = std::min(plan.ramp_ns, result.window_close_ns);
  result.cut_short = result.window_close_ns < plan.ramp_ns + plan.runtime_ns;
  return result;
}

int64_t ThreadExecutor::NowNs() const { return Now(); }

bool ThreadExecutor::Sleep(int64_t ns, const std::function<bool()>& interrupted) {
  const int64_t until_ns = Now() + ns;
  while (true) {
    if (interrupted && interrupted()) return false;
    const int64_t now_ns = Now();
    if (now_ns >= until_ns) return true;
    SleepUntil(std::min(until_ns, now_ns + kPollNs));
  }
}

}  // namespace blkfair
