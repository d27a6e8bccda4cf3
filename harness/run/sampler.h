// Sampler: the threads of a phase that look on, at the times that PhaseHooks says: one samples tag
// occupancy, which may take long where many jobs share few CPUs; one reads the kernel's counters at
// the ends of the window, which must not be late, and goes before the jobs where it may. Keeps
// account of what that costs. Made and stopped by the orchestrator's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "harness/run/executor.h"
#include "harness/run/job_account.h"

namespace blkfair {

class Sampler {
 public:
  // Made before the barrier opens: later the jobs may not let its threads begin in time. All of it
  // outlives the sampler.
  Sampler(const PhasePlan& plan, const PhaseHooks& hooks, const PhaseTimes& times,
          const JobClock& clock);

  // Waits for the sample that is being taken, if any. What it all cost; empty when there was
  // nothing to do.
  std::optional<SamplingRecord> Stop();

 private:
  void SampleAll(const std::stop_token& stop);
  void ReadEnds(const std::stop_token& stop);
  void Sample();
  bool WaitUntil(int64_t at_ns, const std::stop_token& stop) const;

  const PhasePlan& plan_;
  const PhaseHooks& hooks_;
  const PhaseTimes& times_;
  const JobClock& clock_;
  SamplingRecord cost_;
  int64_t time_sum_ns_ = 0;
  int64_t ends_cpu_ns_ = 0;
  std::string ends_cpus_;
  uint64_t index_ = 0;  // of the next sample
  // The last members: they use the others.
  std::jthread samples_;
  std::jthread ends_;
};

}  // namespace blkfair
