// JobThreads: the threads of one phase under real time, and the barrier that starts them together.
// Owned and called by the orchestrator's thread; each worker touches its own Worker, and the shared
// part through the mutex before the barrier and through one atomic after it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "harness/run/executor.h"
#include "harness/run/job_setup.h"

namespace blkfair {

class JobThreads {
 public:
  JobThreads(std::vector<JobSetup> setups, const JobClock& clock);
  // Stops and joins whatever still runs.
  ~JobThreads();
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  // Spawns every worker and waits until each has opened its engine. The first failure is returned;
  // the workers have then been told to leave.
  Result<void> Open();

  // Lets all of them start at times.barrier_ns, a moment still to come.
  void Start(const PhaseTimes& times);
  // The window closes for all at `close_ns`; give it a little in the future.
  void CloseAt(int64_t close_ns) { close_ns_.store(close_ns, std::memory_order_relaxed); }
  // Whether all workers have left, waiting up to `ns` for it.
  bool WaitUntilDone(int64_t ns);

  // After all have left: their records in the plan's order, or what went wrong in one.
  Result<std::vector<JobRecord>> Collect();
  // Where the window closed, the same for every job unless one noticed an early close late.
  int64_t close_ns() const;

 private:
  enum class Stage : uint8_t { kOpening, kOpened, kFailed, kLeft };
  struct Worker {
    JobThreads* threads = nullptr;
    JobSetup setup;
    pthread_t thread = {};
    bool spawned = false;
    Stage stage = Stage::kOpening;  // guarded by mutex_
    std::optional<Error> error;     // written before the stage changes
    int64_t close_ns = 0;
    JobRecord record;
  };

  static void* Main(void* worker);
  Result<void> Spawn(Worker* worker);
  Result<void> Work(Worker* worker);
  template <typename ClockT>
  Result<void> RunLoop(Worker* worker, Engine* engine, IoBuffers* buffers, const ClockT& clock);
  // Waits at the barrier; false: the phase was called off.
  bool WaitForStart(Worker* worker);
  void Enter(Worker* worker, Stage stage);
  void CallOff();

  const JobClock clock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t opening_ = 0;  // workers in that stage
  size_t left_ = 0;
  bool called_off_ = false;
  std::optional<PhaseTimes> times_;  // set: the barrier is open
  std::atomic<int64_t> close_ns_ = 0;
};

}  // namespace blkfair
