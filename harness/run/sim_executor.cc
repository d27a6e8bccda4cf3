#include "harness/run/sim_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "harness/run/job_setup.h"

namespace blkfair {

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kProgressNs = 500'000'000;
// Looking whether the user interrupted costs little beside so many events.
constexpr uint32_t kEventsPerPoll = 4096;

struct SimJob {
  JobSetup setup;
  SimPort* port = nullptr;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<JobAccount> account;
  std::unique_ptr<JobLoop<ManualClockView>> loop;
  Need need;
  int64_t wake_ns = kNever;  // the earliest wake that is scheduled for it
};

// One phase. Its events are those of the world (completions), the deadlines of the jobs, and the
// samples and progress reports that the hooks ask for.
class SimPhase {
 public:
  SimPhase(SimWorld* world, const PhasePlan& plan, const PhaseHooks& hooks)
      : world_(world), plan_(plan), hooks_(hooks) {}

  Result<void> Open();
  void Run();
  PhaseResult Finish();

 private:
  struct Wake {
    int64_t at_ns;
    uint32_t job;
    bool operator>(const Wake& other) const {
      return std::tie(at_ns, job) > std::tie(other.at_ns, other.job);
    }
  };

  Result<void> OpenJob(JobSetup setup);
  void Step(uint32_t index);
  void CallHooks();
  void CloseNow();
  bool Interrupted() const { return hooks_.interrupted && hooks_.interrupted(); }

  SimWorld* world_;
  const PhasePlan& plan_;
  const PhaseHooks& hooks_;
  PhaseTimes times_;
  std::vector<SimJob> jobs_;
  size_t running_ = 0;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  int64_t next_sample_ns_ = kNever;
  uint64_t samples_ = 0;
  int64_t next_progress_ns_ = kNever;
  bool interrupted_ = false;
};

Result<void> SimPhase::Open() {
  ASSIGN_OR_RETURN(std::vector<JobSetup> setups, SetUpJobs(plan_));
  jobs_.reserve(setups.size());
  for (JobSetup& setup : setups) {
    if (Interrupted()) return Fail(ErrorKind::kInterrupted, "interrupted before the jobs started");
    RETURN_IF_ERROR(OpenJob(std::move(setup)));
  }
  return {};
}

Result<void> SimPhase::OpenJob(JobSetup setup) {
  const Queue& queue = *setup.plan.queue;
  if (setup.engine->name != "sim" || queue.kind != QueueKind::kSim) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: engine {} on {} cannot run in virtual time (engine sim on a queue "
                            "of a sim fixture can)",
                            setup.Name(), setup.engine->name, queue.Name()));
  }
  if (queue.sim.service_ns <= 0) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: a service time of zero would stop virtual time", queue.Name()));
  }
  SimJob job;
  job.port = world_->AddPort(world_->AddQueue(queue), setup.plan.spec->iodepth, setup.plan.seed,
                             static_cast<uint32_t>(jobs_.size()));
  job.engine = setup.MakeEngine();
  RETURN_IF_ERROR(job.engine->Open(OpenArgsOf(setup, IoBuffers(), job.port)));
  job.account = std::make_unique<JobAccount>(setup.shape);
  job.loop = std::make_unique<JobLoop<ManualClockView>>(setup.config, setup.workload,
                                                        job.engine.get(), job.account.get(),
                                                        ManualClockView(&world_->clock()));
  job.setup = std::move(setup);
  jobs_.push_back(std::move(job));
  return {};
}

// Lets a job go as far as it can at the present time, and schedules when it wants to be woken.
void SimPhase::Step(uint32_t index) {
  SimJob& job = jobs_[index];
  if (job.loop->done()) return;
  const int64_t now_ns = world_->NowNs();
  while (job.port->ready() >= job.need.min || job.need.deadline_ns <= now_ns) {
    job.loop->Reap(job.need);
    if (!job.loop->done()) job.need = job.loop->Submit();
    if (job.loop->done()) {
      running_--;
      return;
    }
  }
  if (job.wake_ns <= now_ns) job.wake_ns = kNever;
  if (job.need.deadline_ns < job.wake_ns) {
    job.wake_ns = job.need.deadline_ns;
    wakes_.push({job.wake_ns, index});
  }
}

void SimPhase::CloseNow() {
  interrupted_ = true;
  for (uint32_t i = 0; i < jobs_.size(); i++) {
    jobs_[i].loop->CloseAt(world_->NowNs());
    jobs_[i].need.deadline_ns = std::min(jobs_[i].need.deadline_ns, world_->NowNs());
    Step(i);
  }
}

void SimPhase::CallHooks() {
  const int64_t now_ns = world_->NowNs();
  if (now_ns >= next_sample_ns_) {
    hooks_.sample(now_ns - times_.barrier_ns);
    next_sample_ns_ = times_.barrier_ns + SampleMomentNs(++samples_, plan_.sample_interval_ns);
    if (next_sample_ns_ >= times_.close_ns) next_sample_ns_ = kNever;
  }
  if (now_ns >= next_progress_ns_) {
    hooks_.progress(now_ns - times_.barrier_ns);
    next_progress_ns_ += kProgressNs;
  }
}

void SimPhase::Run() {
  times_.barrier_ns = world_->NowNs();
  times_.open_ns = times_.barrier_ns + plan_.ramp_ns;
  times_.close_ns = times_.open_ns + plan_.runtime_ns;
  if (hooks_.sample && plan_.sample_interval_ns > 0) {
    next_sample_ns_ = times_.barrier_ns + SampleMomentNs(0, plan_.sample_interval_ns);
  }
  if (hooks_.progress) next_progress_ns_ = times_.barrier_ns + kProgressNs;
  running_ = jobs_.size();
  bool stop = false;
  for (uint32_t i = 0; i < jobs_.size(); i++) {
    jobs_[i].loop->Start(times_);
    stop = stop || Interrupted();
    if (stop) continue;  // it is closed with the others
    jobs_[i].need = jobs_[i].loop->Submit();
    Step(i);
  }
  if (stop) CloseNow();
  for (uint32_t events = 0; running_ > 0; events++) {
    if (!interrupted_ && events % kEventsPerPoll == 0 && Interrupted()) {
      CloseNow();
      continue;
    }
    int64_t next_ns = std::min({world_->NextEventNs(), next_sample_ns_, next_progress_ns_});
    if (!wakes_.empty()) next_ns = std::min(next_ns, wakes_.top().at_ns);
    CHECK(next_ns != kNever);
    world_->AdvanceTo(next_ns);
    for (const SimPort* port : world_->TakePortsWithNews()) {
      // A request that an earlier phase gave up on may come back now: nobody waits for it.
      const uint32_t owner = port->owner();
      if (owner < jobs_.size() && jobs_[owner].port == port) Step(owner);
    }
    while (!wakes_.empty() && wakes_.top().at_ns <= next_ns) {
      const uint32_t index = wakes_.top().job;
      wakes_.pop();
      Step(index);
    }
    CallHooks();
  }
}

PhaseResult SimPhase::Finish() {
  PhaseResult result;
  result.interrupted = interrupted_;
  result.window_open_ns = plan_.ramp_ns;
  result.window_close_ns = plan_.ramp_ns + plan_.runtime_ns;
  for (SimJob& job : jobs_) {
    const int64_t close_ns = job.account->close_ns() - times_.barrier_ns;
    result.window_close_ns = std::min(result.window_close_ns, close_ns);
    result.jobs.push_back(
        RecordOf(job.setup, job.loop->outstanding(), job.engine.get(), job.account.get()));
  }
  result.window_open_ns = std::min(result.window_open_ns, result.window_close_ns);
  return result;
}

}  // namespace

Result<PhaseResult> SimExecutor::RunPhase(const PhasePlan& plan, const PhaseHooks& hooks) {
  SimPhase phase(&world_, plan, hooks);
  RETURN_IF_ERROR(phase.Open());
  phase.Run();
  return phase.Finish();
}

bool SimExecutor::Sleep(int64_t ns, const std::function<bool()>& interrupted) {
  if (interrupted && interrupted()) return false;
  world_.AdvanceTo(world_.NowNs() + ns);
  return true;
}

ClockFacts SimExecutor::clock_facts() const {
  ClockFacts facts;
  facts.source = "virtual";
  return facts;
}

}  // namespace blkfair
