// Phases in real time, on targets that every machine has: the null engine, /dev/zero, and files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/kernel_fs.h"
#include "base/tsc.h"
#include "engines/wait.h"
#include "harness/run/placement.h"
#include "harness/run/thread_executor.h"
#include "results/fairness/cross_checks.h"
#include "tests/support/real_phase.h"

namespace blkfair {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(ThreadExecutor, AllJobsShareOneWindow) {
  RealPhase scenario;
  JobSpec& deep = scenario.Add("null", "");
  deep.iodepth = 32;
  deep.batch_submit = 8;
  scenario.Add("psync", "/dev/zero");
  const auto result = scenario.Run();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->window_open_ns, 200 * kMs);
  EXPECT_EQ(result->window_close_ns, 500 * kMs);
  EXPECT_FALSE(result->interrupted);
  ASSERT_EQ(result->jobs.size(), 2u);
  for (const JobRecord& job : result->jobs) {
    EXPECT_GT(job.directions.front().ios, 100u) << job.job;
    EXPECT_GT(job.ios_trimmed, 0u);
    EXPECT_EQ(job.series.size(), 50u);
    EXPECT_EQ(job.outstanding, 0u);
    EXPECT_EQ(job.clock_anomalies, 0u);
    EXPECT_TRUE(job.errors.empty());
    EXPECT_LE(job.depth_mean, job.iodepth);
    EXPECT_GT(job.cpu_user_ns + job.cpu_system_ns, 0);
    uint64_t ios = job.ios_trimmed;
    for (const SeriesCell& cell : job.series) ios -= cell.ios;
    EXPECT_EQ(ios + job.directions.front().ios, 0u);
  }
  EXPECT_EQ(result->jobs[0].depth_max, 32u);
  EXPECT_EQ(result->jobs[0].queue, "zero:0");
  EXPECT_EQ(result->jobs[1].engine, "psync");
}

TEST(ThreadExecutor, WhenOneEngineCannotOpenNoJobStarts) {
  RealPhase scenario;
  scenario.Add("null", "");
  scenario.Add("psync", "/nonexistent/disk");
  scenario.plan.runtime_ns = 3600'000 * kMs;
  const auto result = scenario.Run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "job job1: open /nonexistent/disk: No such file or directory");
}

TEST(ThreadExecutor, DirectIoThatTheTargetCannotDoIsAnError) {
  RealPhase scenario;
  scenario.Add("psync", "/dev/zero").direct = true;
  const auto result = scenario.Run();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("set direct = false"), std::string::npos)
      << result.error().message;
}

TEST(ThreadExecutor, B16ASynchronousEngineDeeperThanOneIsRefused) {
  RealPhase scenario;
  scenario.Add("psync", "/dev/zero").iodepth = 64;
  const auto result = scenario.Run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
}

TEST(ThreadExecutor, B27AioDepthsBeyondTheLimitAreToldBeforeAnythingStarts) {
  const std::string folder = ::testing::TempDir() + "aio_limit_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder + "/proc/sys/fs");
  const KernelFs fs(KernelRoots::Under(folder));
  const std::string aio = fs.roots().proc + "/sys/fs/";
  std::filesystem::create_directories(aio);
  std::ofstream(aio + "aio-nr") << "1000\n";
  std::ofstream(aio + "aio-max-nr") << "1255\n";
  RealPhase scenario;
  scenario.Add("libaio", "/dev/zero", 4).iodepth = 64;
  const auto result = ThreadExecutor(&fs).RunPhase(scenario.plan, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "engine libaio: the jobs of this phase need 256 requests, 1000 are in use and "
            "fs.aio-max-nr is 1255 (raise it, or lower iodepth or numjobs)");
  std::filesystem::remove_all(folder);
}

TEST(ThreadExecutor, InterruptionClosesTheWindowForAllAtOnce) {
  RealPhase scenario;
  scenario.Add("null", "");
  JobSpec& paced = scenario.Add("psync", "/dev/zero");
  paced.think_time_ns = 10 * kMs;
  scenario.plan.runtime_ns = 3600'000 * kMs;
  scenario.plan.series_cell_ns = 1000 * kMs;
  std::atomic<int> polls = 0;
  PhaseHooks hooks;
  hooks.interrupted = [&] { return ++polls > 6; };
  const auto result = scenario.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->interrupted);
  EXPECT_GT(result->window_close_ns, 100 * kMs);
  EXPECT_LT(result->window_close_ns, 2000 * kMs);
  // Its pace is at most one read each 10 ms; a busy machine may hold it back.
  const auto reads = static_cast<int64_t>(result->jobs[1].directions.front().ios);
  const int64_t window_ns = result->window_close_ns - result->window_open_ns;
  EXPECT_LE(reads, window_ns / (10 * kMs) + 1);
  EXPECT_GE(reads, window_ns / (100 * kMs));
}

TEST(ThreadExecutor, SamplesOnScheduleWhileTheWindowIsOpen) {
  RealPhase scenario;
  scenario.Add("psync", "/dev/zero").think_time_ns = kMs;
  scenario.plan.sample_interval_ns = 20 * kMs;
  std::vector<int64_t> samples;
  std::vector<int64_t> progress;
  PhaseHooks hooks;
  hooks.sample = [&](int64_t at_ns) { samples.push_back(at_ns); };
  hooks.progress = [&](int64_t at_ns) { progress.push_back(at_ns); };
  const auto result = scenario.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GE(samples.size(), 3u);
  EXPECT_LE(samples.size(), 26u);
  EXPECT_GE(samples.front(), 0);
  EXPECT_LT(samples.back(), result->window_close_ns);
  EXPECT_FALSE(progress.empty());
}

TEST(ThreadExecutor, RunsManyClones) {
  RealPhase scenario;
  scenario.Add("psync", "/dev/zero", 256).think_time_ns = 20 * kMs;
  const auto result = scenario.Run();
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->jobs.size(), 256u);
  for (const JobRecord& job : result->jobs) EXPECT_GT(job.directions.front().ios, 0u);
  EXPECT_EQ(result->jobs[255].clone, 255u);
}

TEST(ThreadExecutor, PlacesJobsAsTheySay) {
  RealPhase scenario;
  JobSpec& job = scenario.Add("psync", "/dev/zero", 2);
  const uint32_t cpu = AllowedCpus().front();
  job.cpus = {cpu};
  job.nice = 4;
  job.ioprio = "be/7";
  const auto result = scenario.Run();
  ASSERT_TRUE(result) << result.error().message;
  for (const JobRecord& record : result->jobs) {
    EXPECT_EQ(record.cpus, std::to_string(cpu));
    EXPECT_EQ(record.nice, 4);
    EXPECT_EQ(record.ioprio, "be/7");
  }
  job.cpus = {1023};
  const auto refused = scenario.Run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
}

TEST(ThreadExecutor, LooksOnFromWhereNoJobRunsAndTellsWhatItCost) {
  RealPhase scenario;
  scenario.plan.sample_interval_ns = 10 * kMs;
  scenario.Add("psync", "/dev/zero").cpus = {AllowedCpus().front()};
  std::mutex mutex;  // samples and ends are looked at by two threads
  std::vector<std::string> order;
  const auto note = [&](const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (order.empty() || order.back() != what) order.push_back(what);
  };
  PhaseHooks hooks;
  hooks.sample = [&](int64_t) { note("sample"); };
  hooks.window_opens = [&](int64_t at_ns) {
    note("open");
    EXPECT_GE(at_ns, 200 * kMs);
  };
  hooks.window_closes = [&](int64_t at_ns) {
    note("close");
    EXPECT_GE(at_ns, 500 * kMs);
  };
  const auto result = scenario.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(order, (std::vector<std::string>{"sample", "open", "sample", "close"}));
  ASSERT_TRUE(result->sampling);
  EXPECT_GT(result->sampling->samples, 0u);
  EXPECT_GT(result->sampling->cpu_ns, 0);
  EXPECT_GE(result->sampling->time_max_ns, result->sampling->time_mean_ns);
  std::vector<uint32_t> others = AllowedCpus();
  if (others.size() > 1) others.erase(others.begin());
  EXPECT_EQ(result->sampling->cpus, CpuListText(others));
}

TEST(ThreadExecutor, NoSampleHoldsUpWhatIsReadAtTheEndsOfTheWindow) {
  RealPhase scenario;
  scenario.plan.sample_interval_ns = 10 * kMs;
  scenario.Add("psync", "/dev/zero");
  std::atomic<int64_t> open_ns = 0;
  std::atomic<int64_t> close_ns = 0;
  PhaseHooks hooks;
  hooks.sample = [&](int64_t at_ns) { SleepUntil(MonotonicClock().NowNs() + 800 * kMs - at_ns); };
  hooks.window_opens = [&](int64_t at_ns) { open_ns = at_ns; };
  hooks.window_closes = [&](int64_t at_ns) { close_ns = at_ns; };
  const auto result = scenario.Run(hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GE(open_ns, 200 * kMs);
  EXPECT_LT(open_ns, 500 * kMs);
  EXPECT_GE(close_ns, 500 * kMs);
  EXPECT_LT(close_ns, 790 * kMs);
}

TEST(ThreadExecutor, ANullEngineThatUsesAWholeCpuIsGeneratorBound) {
  RealPhase scenario;
  JobSpec& job = scenario.Add("null", "");
  job.iodepth = 32;
  // One by one the depth would be short of 32 by half an I/O at most.
  job.batch_submit = 16;
  job.batch_complete = 16;
  auto result = scenario.Run();
  ASSERT_TRUE(result) << result.error().message;
  PhaseRecord phase;
  phase.name = "alone";
  phase.window_close_ns = result->window_close_ns;
  JobRecord& record = result->jobs.front();
  if (record.cpu_user_ns + record.cpu_system_ns < phase.window_close_ns * 96 / 100) {
    GTEST_SKIP() << "other programs took the CPU from the job";
  }
  const std::optional<std::string> why = WhyGeneratorBound(phase, record);
  ASSERT_TRUE(why) << record.depth_mean;
  EXPECT_NE(why->find("of 32 I/Os in flight"), std::string::npos) << *why;
}

TEST(ThreadExecutor, TellsItsClock) {
  const KernelFs fs(KernelRoots::Real());
  ThreadExecutor executor(&fs);
  const ClockFacts facts = executor.clock_facts();
  EXPECT_TRUE(facts.source == "CLOCK_MONOTONIC" || facts.source == "TSC") << facts.source;
  EXPECT_FALSE(facts.why.empty());
  EXPECT_GT(facts.read_cost_ns, 0);
  const int64_t before_ns = executor.NowNs();
  EXPECT_TRUE(executor.Sleep(5 * kMs, nullptr));
  EXPECT_GE(executor.NowNs() - before_ns, 5 * kMs);
  EXPECT_FALSE(executor.Sleep(3600'000 * kMs, [] { return true; }));
}

TEST(ThreadExecutor, RunsOnTheTscWhereTheCpuHasAGoodOne) {
  if (const std::string why_not = WhyNotTsc(HasInvariantTsc(), "tsc"); !why_not.empty()) {
    GTEST_SKIP() << why_not;
  }
  RealPhase scenario;
  scenario.Add("psync", "/dev/zero", 4);
  scenario.Add("null", "").iodepth = 8;
  ThreadExecutor executor(&scenario.fs, RunClock::ForceTsc());
  const auto result = executor.RunPhase(scenario.plan, {});
  ASSERT_TRUE(result) << result.error().message;
  for (const JobRecord& job : result->jobs) {
    EXPECT_GT(job.directions.front().ios, 0u);
    EXPECT_EQ(job.clock_anomalies, 0u);
    EXPECT_EQ(job.series.size(), 50u);
  }
  const ClockFacts facts = executor.clock_facts();
  EXPECT_EQ(facts.source, "TSC");
  EXPECT_EQ(facts.suspect, "");
}

}  // namespace
}  // namespace blkfair
