// ThreadExecutor: runs phases in real time, one thread or process per clone of a job, which opens
// the clone's engine, waits at the start barrier, runs the clone's loop and drains. A further
// thread samples; the caller's thread watches for interruption and for workers that die, and
// reports progress. It must be the only thread of its process between phases (see JobWorkers).
#pragma once

#include <cstdint>
#include <functional>

#include "base/kernel_fs.h"
#include "harness/run/executor.h"

namespace blkfair {

class ThreadExecutor : public PhaseExecutor {
 public:
  // `fs` (for the AIO limits and the clock source) outlives the executor.
  explicit ThreadExecutor(const KernelFs* fs) : ThreadExecutor(fs, RunClock::Choose(*fs)) {}
  ThreadExecutor(const KernelFs* fs, const RunClock& clock) : fs_(fs), clock_(clock) {}

  Result<PhaseResult> RunPhase(const PhasePlan& plan, const PhaseHooks& hooks) override;
  int64_t NowNs() const override;
  bool Sleep(int64_t ns, const std::function<bool()>& interrupted) override;
  ClockFacts clock_facts() const override { return clock_.Facts(); }

 private:
  const KernelFs* fs_;
  const RunClock clock_;
};

}  // namespace blkfair
