// JobWorkers: the workers of one phase under real time, one thread or one process for each clone.
// Owned and called by the orchestrator's thread, which must be the only one of its process when
// Open is called: processes are forked there, before any thread is made, and a fork beside other
// threads would copy locks that they hold.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/shared_memory.h"
#include "harness/run/job_setup.h"
#include "harness/run/job_worker.h"
#include "harness/run/phase_control.h"

namespace blkfair {

class JobWorkers {
 public:
  JobWorkers(std::vector<JobSetup> setups, const JobClock& clock);
  // Ends whatever still runs: threads are joined, processes killed and reaped. What was given up
  // is left behind, with its memory.
  ~JobWorkers();
  JobWorkers(const JobWorkers&) = delete;
  JobWorkers& operator=(const JobWorkers&) = delete;

  // Starts every worker and waits until each has opened its engine. The first failure is returned.
  Result<void> Open();

  // Lets all of them start at times.barrier_ns, a moment still to come.
  void Start(const PhaseTimes& times) { shared_->control->Start(times); }
  // The window closes for all at `close_ns`; give it a little in the future.
  void CloseAt(int64_t close_ns) {
    shared_->control->close_ns().store(close_ns, std::memory_order_relaxed);
  }
  // When it closes as things are, whoever set it last.
  int64_t closing_ns() const {
    return shared_->control->close_ns().load(std::memory_order_relaxed);
  }
  // Whether all workers have left or died, waiting up to `ns` for it. The first death closes the
  // window for all.
  bool WaitUntilDone(int64_t ns);

  // Afterwards all are done: processes that still run are killed, and what the kernel does not let
  // go even so, or holds in a thread, is given up.
  void GiveUp();

  // After all are done: their records in the plan's order. A worker that broke or died has one
  // too, of what it had done by then, and the first of them is named in `broken`.
  std::vector<JobRecord> Collect(std::optional<Error>* broken);
  // Where the window closed, the same for every job unless one noticed an early close late.
  int64_t close_ns() const;

 private:
  struct Worker {
    JobSetup setup;
    PhaseControl* control = nullptr;
    JobClock clock;
    SharedMemory memory;
    WorkerDesk* desk = nullptr;  // in `memory`
    // A thread, or a process.
    std::optional<pthread_t> thread;
    pid_t pid = -1;  // until it is reaped
    UniqueFd pidfd;
    std::string died;  // how a process ended that left nothing else behind
    bool given_up = false;
  };
  // What every worker writes to, a thread that was given up perhaps later than this object lives.
  struct Shared {
    SharedMemory memory;
    PhaseControl* control = nullptr;  // in `memory`
    UniqueFd news;                    // an eventfd
  };

  static void* ThreadMain(void* worker);
  Result<void> SpawnThread(Worker* worker);
  Result<void> SpawnProcess(Worker* worker);
  [[noreturn]] static void ProcessMain(Worker* worker, pid_t parent);
  // Until `ns` have passed or something has happened to a worker, which is then noted.
  void WaitForNews(int64_t ns);
  static void Reap(Worker* worker);
  static bool IsDone(const Worker& worker);
  bool AllDone() const;
  std::optional<Error> ErrorOf(const Worker& worker) const;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace blkfair
