// Sampler: the thread of a phase that looks on: it samples tag occupancy and reads the kernel's
// counters at the ends of the window, at the times that PhaseHooks says, and keeps account of what
// that costs. Made and stopped by the orchestrator's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "harness/run/executor.h"
#include "harness/run/job_account.h"

namespace blkfair {

class Sampler {
 public:
  // Begins at the barrier. All of it outlives the sampler.
  Sampler(const PhasePlan& plan, const PhaseHooks& hooks, const PhaseTimes& times,
          const JobClock& clock);

  // Waits for the sample that is being taken, if any. What it all cost; empty when there was
  // nothing to do.
  std::optional<SamplingRecord> Stop();

 private:
  void Loop(const std::stop_token& stop);
  void Sample();
  bool WaitUntil(int64_t at_ns, const std::stop_token& stop) const;

  const PhasePlan& plan_;
  const PhaseHooks& hooks_;
  const PhaseTimes& times_;
  const JobClock& clock_;
  SamplingRecord cost_;
  int64_t time_sum_ns_ = 0;
  uint64_t index_ = 0;   // of the next sample
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace blkfair
