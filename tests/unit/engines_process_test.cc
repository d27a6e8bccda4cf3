// Clones in processes of their own: the same accounting as in threads, and what becomes of a phase
// one of whose processes dies.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "harness/run/job_workers.h"
#include "harness/run/thread_executor.h"
#include "tests/support/real_phase.h"

namespace blkfair {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Phase : RealPhase {
  JobSpec& Add(Isolation isolation, const char* engine, uint32_t clones = 1,
               const char* path = "/dev/zero") {
    JobSpec& job = RealPhase::Add(engine, path, clones);
    job.isolation = isolation;
    return job;
  }
};

// The processes whose parent is this one.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  DIR* proc = ::opendir("/proc");
  while (const dirent* entry = ::readdir(proc)) {
    std::ifstream stat("/proc/" + std::string(entry->d_name) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) continue;
    // "PID (name) state ppid ...": the name may hold anything.
    const size_t at = text.rfind(") ");
    if (at != std::string::npos && std::stoi(text.substr(at + 4)) == ::getpid()) {
      children.push_back(std::stoi(entry->d_name));
    }
  }
  ::closedir(proc);
  return children;
}

void ExpectNoChildLeft() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// What must hold of one clone's figures, however it was isolated. All of its I/Os count somewhere.
void ExpectWholeAccount(const JobRecord& job) {
  SCOPED_TRACE(job.job + " clone " + std::to_string(job.clone));
  const DirectionRecord& read = job.directions.at(0);
  EXPECT_EQ(read.ios, read.lat.count());
  EXPECT_EQ(read.lat.histogram().total(), read.ios);
  EXPECT_EQ(read.clat.histogram().total(), read.ios);
  EXPECT_EQ(read.bytes, read.ios * 4096);
  uint64_t in_series = 0;
  for (const SeriesCell& cell : job.series) in_series += cell.ios;
  EXPECT_EQ(in_series, job.ios_trimmed + read.ios);
  EXPECT_EQ(job.outstanding, 0u);
  EXPECT_EQ(job.ended_early, "");
  EXPECT_GT(job.cpu_user_ns + job.cpu_system_ns, 0);
}

TEST(JobProcesses, CountAsThreadsDo) {
  Phase phase;
  for (const Isolation isolation : {Isolation::kThread, Isolation::kProcess}) {
    JobSpec& deep = phase.Add(isolation, "null", 2);
    deep.iodepth = 32;
    deep.batch_submit = 8;
    deep.think_time_ns = 20 * kMs;  // so that both do the same, whatever else the machine does
    phase.Add(isolation, "psync").think_time_ns = 20 * kMs;
  }
  const auto result = phase.Run();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->window_open_ns, 200 * kMs);
  EXPECT_EQ(result->window_close_ns, 500 * kMs);
  EXPECT_FALSE(result->broken);
  ASSERT_EQ(result->jobs.size(), 6u);
  for (size_t i = 0; i < 6; i++) {
    const JobRecord& job = result->jobs[i];
    ExpectWholeAccount(job);
    EXPECT_EQ(job.series.size(), 50u);
    const JobRecord& twin = result->jobs[i % 3];
    EXPECT_EQ(job.engine, twin.engine);
    EXPECT_EQ(job.clone, twin.clone);
    EXPECT_EQ(job.depth_max, twin.depth_max);
    EXPECT_EQ(job.directions[0].slat.has_value(), twin.directions[0].slat.has_value());
    const auto ios = static_cast<double>(twin.directions[0].ios);
    EXPECT_NEAR(static_cast<double>(job.directions[0].ios), ios, 0.5 * ios);
  }
  ExpectNoChildLeft();
}

TEST(JobProcesses, AreProcessesThatTheirParentNames) {
  Phase phase;
  phase.Add(Isolation::kProcess, "psync", 3).think_time_ns = kMs;
  phase.plan.runtime_ns = 3600'000 * kMs;
  std::vector<pid_t> seen;
  PhaseHooks hooks;
  hooks.interrupted = [&] {
    seen = Children();
    return true;
  };
  const auto result = phase.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->interrupted);
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_LT(result->window_close_ns, 5000 * kMs);
  for (const JobRecord& job : result->jobs) ExpectWholeAccount(job);
  ExpectNoChildLeft();
}

TEST(JobProcesses, OneThatIsKilledEndsThePhaseAtOnceAndWhatWasMeasuredStays) {
  Phase phase;
  phase.Add(Isolation::kThread, "psync").think_time_ns = kMs;
  phase.Add(Isolation::kProcess, "psync", 2).think_time_ns = kMs;
  phase.plan.runtime_ns = 3600'000 * kMs;
  phase.plan.series_cell_ns = 1000 * kMs;
  pid_t killed = -1;
  int64_t killed_at_ns = 0;
  const ThreadExecutor clock(&phase.fs);
  PhaseHooks hooks;
  hooks.progress = [&](int64_t elapsed_ns) {
    if (killed > 0 || elapsed_ns < 1000 * kMs) return;
    killed = Children().at(0);
    killed_at_ns = clock.NowNs();
    ::kill(killed, SIGKILL);
  };
  const auto result = phase.Run(hooks);
  EXPECT_LT(clock.NowNs() - killed_at_ns, 1000 * kMs);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(result->broken);
  EXPECT_TRUE(result->broken->message.ends_with("its process was killed by signal 9 (Killed)"))
      << result->broken->message;
  EXPECT_EQ(result->broken->message.find("job job1 (clone "), 0u) << result->broken->message;
  EXPECT_EQ(result->broken->kind, ErrorKind::kKernel);
  EXPECT_FALSE(result->interrupted);
  ASSERT_EQ(result->jobs.size(), 3u);
  int dead = 0;
  for (const JobRecord& job : result->jobs) {
    EXPECT_GT(job.directions[0].ios, 10u) << job.clone;
    EXPECT_EQ(job.directions[0].lat.count(), job.directions[0].ios);
    if (job.ended_early.empty()) continue;
    dead++;
    EXPECT_EQ(job.ended_early, result->broken->message);
  }
  EXPECT_EQ(dead, 1);
  EXPECT_LT(result->window_close_ns, 5000 * kMs);
  ExpectNoChildLeft();
}

TEST(JobProcesses, WhenOneEngineCannotOpenNoneStarts) {
  Phase phase;
  phase.Add(Isolation::kProcess, "null", 2);
  phase.Add(Isolation::kProcess, "psync", 1, "/nonexistent/disk");
  phase.plan.runtime_ns = 3600'000 * kMs;
  const auto result = phase.Run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "job job1: open /nonexistent/disk: No such file or directory");
  ExpectNoChildLeft();
}

TEST(JobProcesses, DieWithTheirParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    // The pipe's writing end is open for as long as one of these processes lives.
    Phase phase;
    phase.Add(Isolation::kProcess, "psync", 2).think_time_ns = kMs;
    phase.plan.runtime_ns = 3600'000 * kMs;
    PhaseHooks hooks;
    hooks.progress = [&](int64_t elapsed_ns) {
      if (elapsed_ns > 300 * kMs) ::kill(::getpid(), SIGKILL);
    };
    static_cast<void>(phase.Run(hooks));
    ::_exit(0);
  }
  writing.Reset();
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status));
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 0);  // hangs, were one of them alive
}

TEST(JobProcesses, OneThatStandsStillIsKilledAfterTheDrain) {
  Phase phase;
  phase.Add(Isolation::kProcess, "psync", 2).think_time_ns = kMs;
  phase.plan.runtime_ns = 800 * kMs;
  phase.plan.drain_limit_ns = 100 * kMs;
  bool stopped = false;
  PhaseHooks hooks;
  hooks.interrupted = [&] {
    if (!stopped) ::kill(Children().at(0), SIGSTOP);
    stopped = true;
    return false;
  };
  const auto result = phase.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(result->broken);
  EXPECT_TRUE(result->broken->message.ends_with("its process was killed by signal 9 (Killed)"))
      << result->broken->message;
  EXPECT_GT(result->jobs[0].directions[0].ios + result->jobs[1].directions[0].ios, 100u);
  ExpectNoChildLeft();
}

// What an open-loop job owes while its generator stands still is not the device's fault.
TEST(JobProcesses, OneThatStandsStillForAWhileIsBehindItsRate) {
  Phase phase;
  JobSpec& job = phase.Add(Isolation::kProcess, "psync");
  job.rate_iops = 1000;
  phase.plan.jobs[0].spec = &job;
  phase.plan.ramp_ns = 0;
  phase.plan.runtime_ns = 2000 * kMs;
  pid_t stopped = -1;
  bool goes_on = false;
  PhaseHooks hooks;
  hooks.progress = [&](int64_t elapsed_ns) {
    if (stopped < 0 && elapsed_ns > 400 * kMs) {
      stopped = Children().at(0);
      ::kill(stopped, SIGSTOP);
    } else if (stopped > 0 && !goes_on) {  // half a second later
      ::kill(stopped, SIGCONT);
      goes_on = true;
    }
  };
  const auto result = phase.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(goes_on);
  const JobRecord& record = result->jobs.at(0);
  ASSERT_TRUE(record.open_loop);
  EXPECT_EQ(record.open_loop->due, 2000u);
  EXPECT_GT(record.open_loop->behind_ns, 300 * kMs);
  EXPECT_EQ(record.open_loop->process, "fixed");
  EXPECT_GT(*record.directions[0].response->max_ns(), 300 * kMs);
  EXPECT_LT(*record.directions[0].lat.max_ns(), 300 * kMs);
  EXPECT_EQ(record.directions[0].response->count(), record.directions[0].ios);
}

TEST(JobWorkers, AThreadThatIsGivenUpIsLeftBehindWithItsMemory) {
  Phase phase;
  JobSpec& job = phase.Add(Isolation::kThread, "psync");
  job.think_time_ns = kMs;
  auto setups = SetUpJobs(phase.plan);
  ASSERT_TRUE(setups) << setups.error().message;
  const ThreadExecutor clock(&phase.fs);
  {
    JobWorkers workers(std::move(*setups), MonotonicClock());
    ASSERT_TRUE(workers.Open());
    PhaseTimes times;
    times.barrier_ns = clock.NowNs() + 10 * kMs;
    times.open_ns = times.barrier_ns;
    times.close_ns = times.open_ns + 500 * kMs;
    workers.Start(times);
    workers.CloseAt(times.close_ns);
    workers.GiveUp();
    EXPECT_TRUE(workers.WaitUntilDone(0));
    std::optional<Error> broken;
    const std::vector<JobRecord> records = workers.Collect(&broken);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].job, "job0");
    EXPECT_TRUE(records[0].directions.empty());
    EXPECT_EQ(records[0].outstanding, 1u);
    ASSERT_TRUE(broken);
    EXPECT_EQ(broken->message, "job job0: it did not come back from the kernel, and was given up");
  }
  // It goes on to its close, and must not find its memory gone.
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
}

TEST(JobProcesses, RunBesideManyOthers) {
  Phase phase;
  phase.Add(Isolation::kProcess, "psync", 64).think_time_ns = 20 * kMs;
  phase.Add(Isolation::kThread, "psync", 64).think_time_ns = 20 * kMs;
  const auto result = phase.Run();
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->jobs.size(), 128u);
  for (const JobRecord& job : result->jobs) EXPECT_GT(job.directions[0].ios, 0u);
  ExpectNoChildLeft();
}

}  // namespace
}  // namespace blkfair
