#include "harness/run/job_worker.h"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>

#include "base/clock_watch.h"
#include "engines/wait.h"

namespace blkfair {

namespace {

// How late a worker that waits may notice that the window was closed early. Shorter, a thousand of
// them would keep a CPU busy with nothing but looking.
constexpr int64_t kWakeLimitNs = 200'000'000;

int64_t Nanoseconds(const timeval& tv) {
  return static_cast<int64_t>(tv.tv_sec) * 1'000'000'000 + tv.tv_usec * 1000;
}

// Of the thread also in a process of its own: the kernel's io_uring workers are not counted in
// either.
rusage ThreadUsage() {
  rusage usage = {};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

void SetUsage(const rusage& before, const rusage& after, WorkerDesk* desk) {
  desk->cpu_user_ns = Nanoseconds(after.ru_utime) - Nanoseconds(before.ru_utime);
  desk->cpu_system_ns = Nanoseconds(after.ru_stime) - Nanoseconds(before.ru_stime);
  desk->switches_voluntary = static_cast<uint64_t>(after.ru_nvcsw - before.ru_nvcsw);
  desk->switches_involuntary = static_cast<uint64_t>(after.ru_nivcsw - before.ru_nivcsw);
}

// A clock may be some nanoseconds behind the one that the barrier was waited for on.
template <typename ClockT>
void SpinUntil(const ClockT& clock, int64_t at_ns) {
  constexpr int64_t kBehindMaxNs = 1'000'000;
  while (clock.NowNs() < at_ns && MonotonicClock().NowNs() < at_ns + kBehindMaxNs) {
  }
}

template <typename ClockT>
Result<void> RunLoop(WorkerDesk* desk, const JobSetup& setup, PhaseControl* control, Engine* engine,
                     IoBuffers* buffers, const ClockT& clock) {
  JobLoopConfig config = setup.config;
  config.wake_limit_ns = kWakeLimitNs;
  JobLoop<ClockT> loop(config, setup.workload, engine, &desk->account, clock);
  desk->Enter(WorkerStage::kOpened);
  // Else the kernel lets timers of a thread be 50 us late, which an arrival would be too.
  if (setup.config.arrivals.open_loop()) ::prctl(PR_SET_TIMERSLACK, 1UL);
  if (!control->WaitForStart()) return {};
  SleepUntil(control->times().barrier_ns);
  SpinUntil(clock, control->times().barrier_ns);
  // CLOCK_MONOTONIC is watched by the kernel itself.
  std::optional<ClockWatchOf<ClockT>> watch;
  if constexpr (!std::is_same_v<ClockT, MonotonicClock>) watch.emplace(clock);

  const rusage before = ThreadUsage();
  loop.Start(control->times(), watch ? &*watch : nullptr);
  loop.Run(control->close_ns());
  const rusage after = ThreadUsage();

  if (loop.outstanding() > 0) buffers->Abandon();
  desk->outstanding = loop.outstanding();
  desk->write_back_errno = WriteBack(setup, loop.outstanding(), engine);
  SetUsage(before, after, desk);
  ASSIGN_OR_RETURN(desk->placement, ReadPlacement(*setup.plan.spec));
  if (loop.reap_errno() != 0) return FailErrno(loop.reap_errno(), "reap completions");
  return {};
}

Result<void> Work(WorkerDesk* desk, const JobSetup& setup, PhaseControl* control,
                  const JobClock& clock) {
  const JobSpec& spec = *setup.plan.spec;
  // Before memory is taken, which then lies near these CPUs.
  RETURN_IF_ERROR(PlaceThisThread(spec));
  ASSIGN_OR_RETURN(IoBuffers buffers, IoBuffers::Take(spec.iodepth, spec.bs_bytes));
  if (Writes(spec.rw)) buffers.Fill(setup.plan.seed);
  const std::unique_ptr<Engine> engine = setup.MakeEngine();
  RETURN_IF_ERROR(engine->Open(OpenArgsOf(setup, buffers, nullptr)));
  return std::visit(
      [&](const auto& each) { return RunLoop(desk, setup, control, engine.get(), &buffers, each); },
      clock);
}

}  // namespace

void WorkerDesk::Enter(WorkerStage stage) {
  stage_.store(stage, std::memory_order_release);
  ::eventfd_write(notify_fd_, 1);
}

void WorkerDesk::Fail(const Error& error) {
  error_kind_ = error.kind;
  const size_t length = std::min(error.message.size(), sizeof error_ - 1);
  std::memcpy(error_, error.message.data(), length);
  error_[length] = '\0';
  Enter(WorkerStage::kFailed);
}

Error WorkerDesk::error() const { return {error_kind_, 0, error_}; }

void WorkAt(WorkerDesk* desk, const JobSetup& setup, PhaseControl* control, const JobClock& clock) {
  const Result<void> done = Work(desk, setup, control, clock);
  if (done) {
    desk->Enter(WorkerStage::kLeft);
    return;
  }
  // It broke while the others run: what they do from here on is no contention.
  if (control->started()) {
    control->close_ns().store(MonotonicClock().NowNs(), std::memory_order_relaxed);
  }
  desk->Fail(done.error());
}

JobRecord RecordOf(const JobSetup& setup, WorkerDesk* desk) {
  JobRecord record = RecordOf(setup, desk->outstanding, desk->write_back_errno, &desk->account);
  record.cpu_user_ns = desk->cpu_user_ns;
  record.cpu_system_ns = desk->cpu_system_ns;
  record.switches_voluntary = desk->switches_voluntary;
  record.switches_involuntary = desk->switches_involuntary;
  NotePlacement(desk->placement, &record);
  return record;
}

}  // namespace blkfair
