// JobWorker: what a thread or a process does for one clone in one phase, the same for both: opens
// the engine, waits at the barrier, runs the loop, drains. It writes to its desk, which outlives it
// and, for a process, lies in shared memory: what was counted stays when the worker dies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "harness/run/job_account.h"
#include "harness/run/job_setup.h"
#include "harness/run/phase_control.h"
#include "harness/run/placement.h"

namespace blkfair {

enum class WorkerStage : uint8_t {
  kOpening,
  kOpened,  // at the barrier, or beyond it
  kFailed,  // it left with an error
  kLeft,    // its work is done
};

class WorkerDesk {
 public:
  // `notify_fd`: an eventfd that the orchestrator waits on.
  WorkerDesk(const JobAccount::Shape& shape, int notify_fd, std::pmr::memory_resource* memory)
      : account(shape, memory), notify_fd_(notify_fd) {}

  WorkerStage stage() const { return stage_.load(std::memory_order_acquire); }
  // By the worker. What it has written before is seen by who sees the stage.
  void Enter(WorkerStage stage);
  void Fail(const Error& error);
  // Of stage kFailed.
  Error error() const;

  JobAccount account;
  uint32_t outstanding = 0;
  int write_back_errno = 0;
  int64_t cpu_user_ns = 0;
  int64_t cpu_system_ns = 0;
  uint64_t switches_voluntary = 0;
  uint64_t switches_involuntary = 0;
  Placement placement;

 private:
  int notify_fd_;
  std::atomic<WorkerStage> stage_ = WorkerStage::kOpening;
  ErrorKind error_kind_ = ErrorKind::kKernel;
  char error_[512] = {};  // cut where it is longer: no string, whose memory would not be shared
};

// Enters stage kLeft or kFailed when the clone's work is done, or the phase was called off.
void WorkAt(WorkerDesk* desk, const JobSetup& setup, PhaseControl* control, const JobClock& clock);

// What the clone did, after its worker has left or died. The desk is used up.
JobRecord RecordOf(const JobSetup& setup, WorkerDesk* desk);

}  // namespace blkfair
