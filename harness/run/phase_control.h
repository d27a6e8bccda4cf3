// PhaseControl: what all workers of a phase look at: the barrier that starts them together, and
// when the window closes. It lies in memory that processes share, so nothing in it is a lock: a
// worker may be killed at any point. Opened by the orchestrator's thread, waited for by each
// worker.
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/run/job_account.h"

namespace blkfair {

class PhaseControl {
 public:
  // Lets every worker start at times.barrier_ns, a moment still to come.
  void Start(const PhaseTimes& times);
  // Instead of Start: the workers leave. Without effect after it.
  void CallOff();
  // Waits for either; false: the phase was called off.
  bool WaitForStart();
  bool started() const { return barrier_.load(std::memory_order_acquire) == kStarted; }
  // After WaitForStart.
  const PhaseTimes& times() const { return times_; }

  std::atomic<int64_t>& close_ns() { return close_ns_; }

 private:
  enum Barrier : uint32_t { kShut, kStarted, kCalledOff };

  void OpenTo(Barrier state);

  std::atomic<uint32_t> barrier_ = kShut;  // a futex
  PhaseTimes times_;
  std::atomic<int64_t> close_ns_ = 0;
};

}  // namespace blkfair
