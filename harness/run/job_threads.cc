#include "harness/run/job_threads.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/clock_watch.h"
#include "engines/wait.h"
#include "harness/run/placement.h"

namespace blkfair {

namespace {

// The loop's frames are small and nothing is allocated on the stack; 1024 jobs must stay cheap.
constexpr size_t kStackBytes = 256 * 1024;
// How late a worker that waits may notice that the window was closed early.
constexpr int64_t kWakeLimitNs = 50'000'000;

int64_t Nanoseconds(const timeval& tv) {
  return static_cast<int64_t>(tv.tv_sec) * 1'000'000'000 + tv.tv_usec * 1000;
}

rusage ThreadUsage() {
  rusage usage = {};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

void AddUsage(const rusage& before, const rusage& after, JobRecord* record) {
  record->cpu_user_ns = Nanoseconds(after.ru_utime) - Nanoseconds(before.ru_utime);
  record->cpu_system_ns = Nanoseconds(after.ru_stime) - Nanoseconds(before.ru_stime);
  record->switches_voluntary = static_cast<uint64_t>(after.ru_nvcsw - before.ru_nvcsw);
  record->switches_involuntary = static_cast<uint64_t>(after.ru_nivcsw - before.ru_nivcsw);
}

// A clock may be some nanoseconds behind the one that the barrier was waited for on.
template <typename ClockT>
void SpinUntil(const ClockT& clock, int64_t at_ns) {
  constexpr int64_t kBehindMaxNs = 1'000'000;
  while (clock.NowNs() < at_ns && MonotonicClock().NowNs() < at_ns + kBehindMaxNs) {
  }
}

Error Named(const JobSetup& setup, Error error) {
  error.message = setup.Name() + ": " + error.message;
  return error;
}

}  // namespace

JobThreads::JobThreads(std::vector<JobSetup> setups, const JobClock& clock) : clock_(clock) {
  for (JobSetup& setup : setups) {
    auto worker = std::make_unique<Worker>();
    worker->threads = this;
    worker->setup = std::move(setup);
    worker->setup.config.wake_limit_ns = kWakeLimitNs;
    workers_.push_back(std::move(worker));
  }
}

JobThreads::~JobThreads() {
  CallOff();
  close_ns_.store(0, std::memory_order_relaxed);
  for (const auto& worker : workers_) {
    if (worker->spawned) ::pthread_join(worker->thread, nullptr);
  }
}

Result<void> JobThreads::Open() {
  opening_ = workers_.size();
  for (const auto& worker : workers_) RETURN_IF_ERROR(Spawn(worker.get()));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return opening_ == 0; });
  for (const auto& worker : workers_) {
    if (worker->stage == Stage::kFailed) return Fail(*worker->error);
  }
  return {};
}

Result<void> JobThreads::Spawn(Worker* worker) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  const int error = ::pthread_create(&worker->thread, &attributes, &JobThreads::Main, worker);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return FailErrno(error, worker->setup.Name() + ": start a thread");
  worker->spawned = true;
  ::pthread_setname_np(worker->thread, worker->setup.plan.spec->name.substr(0, 15).c_str());
  return {};
}

void* JobThreads::Main(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  JobThreads* threads = worker->threads;
  const Result<void> done = threads->Work(worker);
  if (!done) worker->error = Named(worker->setup, done.error());
  threads->Enter(worker, done ? Stage::kLeft : Stage::kFailed);
  return nullptr;
}

Result<void> JobThreads::Work(Worker* worker) {
  const JobSetup& setup = worker->setup;
  const JobSpec& spec = *setup.plan.spec;
  // Before memory is taken, which then lies near these CPUs.
  RETURN_IF_ERROR(PlaceThisThread(spec));
  ASSIGN_OR_RETURN(IoBuffers buffers, IoBuffers::Take(spec.iodepth, spec.bs_bytes));
  if (Writes(spec.rw)) buffers.Fill(setup.plan.seed);
  const std::unique_ptr<Engine> engine = setup.MakeEngine();
  RETURN_IF_ERROR(engine->Open(OpenArgsOf(setup, buffers, nullptr)));
  return std::visit(
      [&](const auto& clock) { return RunLoop(worker, engine.get(), &buffers, clock); }, clock_);
}

template <typename ClockT>
Result<void> JobThreads::RunLoop(Worker* worker, Engine* engine, IoBuffers* buffers,
                                 const ClockT& clock) {
  const JobSetup& setup = worker->setup;
  JobAccount account(setup.shape);
  JobLoop<ClockT> loop(setup.config, setup.workload, engine, &account, clock);
  if (!WaitForStart(worker)) return {};
  const PhaseTimes times = *times_;
  SleepUntil(times.barrier_ns);
  SpinUntil(clock, times.barrier_ns);
  // CLOCK_MONOTONIC is watched by the kernel itself.
  std::optional<ClockWatchOf<ClockT>> watch;
  if constexpr (!std::is_same_v<ClockT, MonotonicClock>) watch.emplace(clock);

  const rusage before = ThreadUsage();
  loop.Start(times, watch ? &*watch : nullptr);
  loop.Run(close_ns_);
  const rusage after = ThreadUsage();

  if (loop.outstanding() > 0) buffers->Abandon();
  worker->close_ns = account.close_ns();
  worker->record = RecordOf(setup, loop.outstanding(), engine, &account);
  AddUsage(before, after, &worker->record);
  RETURN_IF_ERROR(ReadPlacement(*setup.plan.spec, &worker->record));
  if (loop.reap_errno() != 0) return FailErrno(loop.reap_errno(), "reap completions");
  return {};
}

bool JobThreads::WaitForStart(Worker* worker) {
  std::unique_lock lock(mutex_);
  worker->stage = Stage::kOpened;
  opening_--;
  changed_.notify_all();
  changed_.wait(lock, [this] { return times_.has_value() || called_off_; });
  return !called_off_;
}

void JobThreads::Enter(Worker* worker, Stage stage) {
  const std::lock_guard lock(mutex_);
  if (worker->stage == Stage::kOpening) {
    opening_--;
  } else if (stage == Stage::kFailed) {
    // It broke while the others run: what they do from here on is no contention.
    close_ns_.store(MonotonicClock().NowNs(), std::memory_order_relaxed);
  }
  worker->stage = stage;
  left_++;
  changed_.notify_all();
}

void JobThreads::CallOff() {
  const std::lock_guard lock(mutex_);
  called_off_ = !times_.has_value();
  changed_.notify_all();
}

void JobThreads::Start(const PhaseTimes& times) {
  const std::lock_guard lock(mutex_);
  close_ns_.store(times.close_ns, std::memory_order_relaxed);
  times_ = times;
  changed_.notify_all();
}

bool JobThreads::WaitUntilDone(int64_t ns) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(ns),
                           [this] { return left_ == workers_.size(); });
}

Result<std::vector<JobRecord>> JobThreads::Collect() {
  std::vector<JobRecord> records;
  for (const auto& worker : workers_) {
    if (worker->stage == Stage::kFailed) return Fail(*worker->error);
    CHECK(worker->stage == Stage::kLeft);
    records.push_back(std::move(worker->record));
  }
  return records;
}

int64_t JobThreads::close_ns() const {
  int64_t close_ns = workers_.front()->close_ns;
  for (const auto& worker : workers_) close_ns = std::min(close_ns, worker->close_ns);
  return close_ns;
}

}  // namespace blkfair
