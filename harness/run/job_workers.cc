#include "harness/run/job_workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engines/wait.h"

namespace blkfair {

namespace {

// The loop's frames are small and nothing is allocated on the stack; 1024 jobs must stay cheap.
constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kNameBytes = 15;  // that the kernel keeps of a task's name
// For processes to go that were killed; longer only where the kernel does not let them.
constexpr int64_t kKillNs = 2'000'000'000;

template <typename T, typename... Args>
T* NewIn(SharedMemory* memory, Args&&... args) {
  return new (static_cast<std::pmr::memory_resource*>(memory)->allocate(sizeof(T), alignof(T)))
      T(std::forward<Args>(args)...);
}

// How a child ended that did not say so itself.
std::string EndOf(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("exited with status {}", info.si_status);
  return fmt::format("was killed by signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

// What it completed is not looked at: a thread may still write it.
JobRecord RecordOfGivenUp(const JobSetup& setup, const JobAccount& account, int64_t close_ns) {
  JobRecord record = IdentityOf(setup);
  account.NoteHung(close_ns, setup.config.iodepth, &record);
  record.outstanding = setup.config.iodepth;  // at most
  return record;
}

}  // namespace

JobWorkers::JobWorkers(std::vector<JobSetup> setups, const JobClock& clock)
    : shared_(std::make_unique<Shared>()) {
  shared_->control = NewIn<PhaseControl>(&shared_->memory);
  shared_->news.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  CHECK(shared_->news.valid());
  for (JobSetup& setup : setups) {
    auto worker = std::make_unique<Worker>();
    worker->setup = std::move(setup);
    worker->control = shared_->control;
    worker->clock = clock;
    worker->desk = NewIn<WorkerDesk>(&worker->memory, worker->setup.shape, shared_->news.get(),
                                     &worker->memory);
    workers_.push_back(std::move(worker));
  }
}

JobWorkers::~JobWorkers() {
  shared_->control->CallOff();
  CloseAt(0);
  bool all_ended = true;
  for (auto& worker : workers_) {
    if (worker->given_up) {
      all_ended = false;
      static_cast<void>(worker.release());
      continue;
    }
    if (worker->thread) ::pthread_join(*worker->thread, nullptr);
    if (worker->pid > 0) {
      ::kill(worker->pid, SIGKILL);
      Reap(worker.get());
    }
    std::destroy_at(worker->desk);
  }
  if (!all_ended) static_cast<void>(shared_.release());
}

Result<void> JobWorkers::Open() {
  for (const auto& worker : workers_) {
    if (worker->setup.InProcess()) RETURN_IF_ERROR(SpawnProcess(worker.get()));
  }
  for (const auto& worker : workers_) {
    if (!worker->setup.InProcess()) RETURN_IF_ERROR(SpawnThread(worker.get()));
  }
  const auto opening = [](const auto& worker) {
    return !IsDone(*worker) && worker->desk->stage() == WorkerStage::kOpening;
  };
  while (std::any_of(workers_.begin(), workers_.end(), opening)) WaitForNews(-1);
  for (const auto& worker : workers_) {
    if (auto error = ErrorOf(*worker)) return Fail(std::move(*error));
  }
  return {};
}

Result<void> JobWorkers::SpawnThread(Worker* worker) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread = {};
  const int error = ::pthread_create(&thread, &attributes, &JobWorkers::ThreadMain, worker);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return FailErrno(error, worker->setup.Name() + ": start a thread");
  worker->thread = thread;
  ::pthread_setname_np(thread, worker->setup.plan.spec->name.substr(0, kNameBytes).c_str());
  return {};
}

void* JobWorkers::ThreadMain(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  WorkAt(worker->desk, worker->setup, worker->control, worker->clock);
  return nullptr;
}

Result<void> JobWorkers::SpawnProcess(Worker* worker) {
  const pid_t parent = ::getpid();
  worker->pid = ::fork();
  if (worker->pid < 0) return FailErrno(errno, worker->setup.Name() + ": start a process");
  if (worker->pid == 0) ProcessMain(worker, parent);
  worker->pidfd.Reset(static_cast<int>(::syscall(SYS_pidfd_open, worker->pid, 0)));
  if (!worker->pidfd.valid()) return FailErrno(errno, worker->setup.Name() + ": watch a process");
  return {};
}

void JobWorkers::ProcessMain(Worker* worker, pid_t parent) {
  // Dies with the orchestrator, also with one that is gone already.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  // A terminal sends these to all: it is the orchestrator that decides, and closes the window.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, worker->setup.plan.spec->name.substr(0, kNameBytes).c_str());
  worker->memory.Populate();
  WorkAt(worker->desk, worker->setup, worker->control, worker->clock);
  ::_exit(0);
}

bool JobWorkers::IsDone(const Worker& worker) {
  if (worker.given_up) return true;
  const WorkerStage stage = worker.desk->stage();
  const bool left = stage == WorkerStage::kLeft || stage == WorkerStage::kFailed;
  return worker.setup.InProcess() ? worker.pid < 0 : left;
}

bool JobWorkers::AllDone() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return IsDone(*worker); });
}

void JobWorkers::WaitForNews(int64_t ns) {
  std::vector<pollfd> polls = {{shared_->news.get(), POLLIN, 0}};
  std::vector<Worker*> processes = {nullptr};
  for (const auto& worker : workers_) {
    if (worker->pid < 0) continue;
    polls.push_back({worker->pidfd.get(), POLLIN, 0});
    processes.push_back(worker.get());
  }
  const timespec timeout = TimespecOf(std::max<int64_t>(ns, 0));
  if (::ppoll(polls.data(), polls.size(), ns < 0 ? nullptr : &timeout, nullptr) <= 0) return;
  eventfd_t count = 0;
  ::eventfd_read(shared_->news.get(), &count);
  for (size_t i = 1; i < polls.size(); i++) {
    if (polls[i].revents == 0) continue;
    Reap(processes[i]);
    if (!processes[i]->died.empty() && shared_->control->started())
      CloseAt(MonotonicClock().NowNs());
  }
}

void JobWorkers::Reap(Worker* worker) {
  siginfo_t info = {};
  while (::waitid(P_PID, static_cast<id_t>(worker->pid), &info, WEXITED) != 0) {
    CHECK(errno == EINTR);
  }
  worker->pid = -1;
  worker->pidfd.Reset();
  const WorkerStage stage = worker->desk->stage();
  if (stage == WorkerStage::kOpening || stage == WorkerStage::kOpened) worker->died = EndOf(info);
}

bool JobWorkers::WaitUntilDone(int64_t ns) {
  const int64_t until_ns = MonotonicClock().NowNs() + ns;
  while (!AllDone()) {
    const int64_t left_ns = until_ns - MonotonicClock().NowNs();
    if (left_ns <= 0) return false;
    WaitForNews(left_ns);
  }
  return true;
}

void JobWorkers::GiveUp() {
  bool killed = false;
  for (const auto& worker : workers_) {
    if (worker->pid > 0) killed = ::kill(worker->pid, SIGKILL) == 0;
  }
  if (killed) WaitUntilDone(kKillNs);
  for (const auto& worker : workers_) worker->given_up = !IsDone(*worker);
}

std::optional<Error> JobWorkers::ErrorOf(const Worker& worker) const {
  const std::string name = worker.setup.Name();
  if (worker.given_up) {
    return Error{ErrorKind::kKernel, 0,
                 fmt::format("{}: it did not come back from the kernel, and was given up", name)};
  }
  if (!worker.died.empty()) {
    return Error{ErrorKind::kKernel, 0, fmt::format("{}: its process {}", name, worker.died)};
  }
  if (worker.desk->stage() != WorkerStage::kFailed) return std::nullopt;
  Error error = worker.desk->error();
  error.message = name + ": " + error.message;
  return error;
}

std::vector<JobRecord> JobWorkers::Collect(std::optional<Error>* broken) {
  CHECK(AllDone());
  std::vector<JobRecord> records;
  for (const auto& worker : workers_) {
    if (worker->given_up) {
      records.push_back(RecordOfGivenUp(worker->setup, worker->desk->account, close_ns()));
    } else {
      if (!worker->died.empty()) worker->desk->account.CloseAt(close_ns());
      // Copied: what the desk gives away lies in memory that goes with the worker.
      const JobRecord shared = RecordOf(worker->setup, worker->desk);
      records.push_back(shared);
    }
    if (const std::optional<Error> error = ErrorOf(*worker)) {
      records.back().ended_early = error->message;
      if (!*broken) *broken = error;
    }
  }
  return records;
}

int64_t JobWorkers::close_ns() const {
  int64_t close_ns = shared_->control->times().close_ns;
  for (const auto& worker : workers_) {
    // A worker that died or is still out there has closed nothing.
    if (worker->died.empty() && !worker->given_up)
      close_ns = std::min(close_ns, worker->desk->account.close_ns());
  }
  return close_ns;
}

}  // namespace blkfair
