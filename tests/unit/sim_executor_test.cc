// Phases in virtual time: the cases whose outcome Little's law and the tag policy predict.
#include "harness/run/sim_executor.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace blkfair {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

// Queues and jobs of one scenario; `plan` refers to them.
struct SimScenario {
  std::deque<Queue> queues;
  std::deque<JobSpec> jobs;
  PhasePlan plan{.jobs = {}, .ramp_ns = 2 * kSecond, .runtime_ns = 10 * kSecond};

  void Add(const char* policy, int64_t service_ns, uint32_t iodepth, double cv = 0,
           uint64_t seed = 1) {
    Queue& queue = queues.emplace_back();
    queue.fixture = "pair";
    queue.index = static_cast<uint32_t>(queues.size() - 1);
    queue.kind = QueueKind::kSim;
    queue.size_bytes = uint64_t{1} << 30;
    queue.sim = {
        .group = "pair", .policy = policy, .tags = 64, .service_ns = service_ns, .service_cv = cv};
    JobSpec& job = jobs.emplace_back();
    job.name = "job" + std::to_string(queue.index);
    job.iodepth = iodepth;
    job.engine = "sim";
    plan.jobs.push_back({&job, 0, &queue, seed * 1000 + queue.index});
  }
};

double Iops(const PhaseResult& result, size_t job) {
  return static_cast<double>(result.jobs[job].directions.front().ios) * kSecond /
         static_cast<double>(result.window_close_ns - result.window_open_ns);
}

PhaseResult MustRun(const SimScenario& scenario, const PhaseHooks& hooks = {}) {
  SimExecutor executor;
  auto result = executor.RunPhase(scenario.plan, hooks);
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

TEST(SimExecutor, FairTagsHoldTheHeavyJobAtItsShareAndTheLightOneAtItsOwnPace) {
  SimScenario scenario;
  scenario.Add("fair", 100 * kMs, 256);
  scenario.Add("fair", kMs, 1);
  const PhaseResult result = MustRun(scenario);
  EXPECT_NEAR(Iops(result, 0), 320, 1);
  EXPECT_NEAR(Iops(result, 1), 1000, 1);
  EXPECT_EQ(result.jobs[1].directions.front().lat.max_ns(), kMs);
}

TEST(SimExecutor, TrimsOfTheEngineTakeTagsLikeOtherRequests) {
  SimScenario scenario;
  scenario.Add("fair", 100 * kMs, 32);
  scenario.jobs[0].rw = Rw::kRandTrim;
  scenario.jobs[0].trim = TrimWay::kAsync;
  const PhaseResult result = MustRun(scenario);
  ASSERT_EQ(result.jobs[0].directions.size(), 1u);
  EXPECT_EQ(result.jobs[0].directions.front().direction, "trim");
  EXPECT_NEAR(Iops(result, 0), 320, 1);
}

TEST(SimExecutor, FirstComeFirstServedStarvesTheLightJob) {
  SimScenario scenario;
  scenario.Add("fcfs", 100 * kMs, 256, 0.1);
  scenario.Add("fcfs", kMs, 1);
  const PhaseResult result = MustRun(scenario);
  EXPECT_NEAR(Iops(result, 0), 640, 10);
  EXPECT_LT(Iops(result, 1), 10);
  EXPECT_GT(result.jobs[1].gap_max_ns, 200 * kMs);
}

TEST(SimExecutor, SlowAndFastHoldEqualTagsAndServeTenToOne) {
  SimScenario scenario;
  scenario.Add("fair", 20 * kMs, 64);
  scenario.Add("fair", 200 * kMs, 64);
  SimExecutor executor;
  std::vector<double> held(2);
  int samples = 0;
  PhaseHooks hooks;
  hooks.sample = [&](int64_t at_ns) {
    if (at_ns < 2 * kSecond) return;
    samples++;
    for (size_t i = 0; i < 2; i++) {
      held[i] += executor.world().FindQueue(scenario.queues[i].Name())->tags_held();
    }
  };
  scenario.plan.sample_interval_ns = 7 * kMs;
  const auto result = executor.RunPhase(scenario.plan, hooks);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_NEAR(samples, 10'000 / 7, 2);
  EXPECT_NEAR(held[0] / samples, 32, 0.5);
  EXPECT_NEAR(held[1] / samples, 32, 0.5);
  EXPECT_NEAR(Iops(*result, 0), 1600, 5);
  EXPECT_NEAR(Iops(*result, 1), 160, 1);
}

TEST(SimExecutor, AloneTheSameJobReachesEveryTag) {
  SimScenario scenario;
  scenario.Add("fair", 100 * kMs, 256);
  const PhaseResult result = MustRun(scenario);
  EXPECT_NEAR(Iops(result, 0), 640, 1);
  EXPECT_NEAR(result.jobs[0].depth_mean, 256, 0.01);
}

TEST(SimExecutor, AnIdleNeighbourStillTakesItsShareForFiveSeconds) {
  SimScenario scenario;
  scenario.Add("fair", 100 * kMs, 256);
  scenario.Add("fair", kMs, 1);
  scenario.jobs[1].think_time_ns = 1000 * kSecond;
  scenario.plan.ramp_ns = 0;
  const PhaseResult result = MustRun(scenario);
  EXPECT_EQ(result.jobs[1].directions.front().ios, 1u);
  const std::vector<SeriesCell>& series = result.jobs[0].series;
  ASSERT_EQ(series.size(), 100u);
  uint64_t early = 0;
  uint64_t late = 0;
  for (size_t i = 10; i < 40; i++) early += series[i].ios;
  for (size_t i = 60; i < 90; i++) late += series[i].ios;
  EXPECT_EQ(early, 30u * 32);
  EXPECT_EQ(late, 30u * 64);
}

TEST(SimExecutor, TheSamePlanGivesTheSameRecordAndAnotherSeedAnother) {
  const auto run = [](uint64_t seed) {
    SimScenario scenario;
    scenario.Add("fair", 100 * kMs, 256, 0.3, seed);
    scenario.Add("fair", kMs, 1, 0.3, seed);
    return MustRun(scenario);
  };
  const PhaseResult one = run(1);
  const PhaseResult same = run(1);
  const PhaseResult other = run(2);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(one.jobs[i].series, same.jobs[i].series);
    EXPECT_EQ(one.jobs[i].directions[0].lat.sum_ns(), same.jobs[i].directions[0].lat.sum_ns());
    EXPECT_EQ(one.jobs[i].depth_mean, same.jobs[i].depth_mean);
    EXPECT_NE(one.jobs[i].series, other.jobs[i].series);
    EXPECT_NE(one.jobs[i].directions[0].lat.sum_ns(), other.jobs[i].directions[0].lat.sum_ns());
  }
}

TEST(SimExecutor, ClonesShareTheirQueueEvenly) {
  SimScenario scenario;
  scenario.Add("fair", 10 * kMs, 4, 0.2);
  scenario.jobs[0].numjobs = 32;
  for (uint32_t clone = 1; clone < 32; clone++) {
    scenario.plan.jobs.push_back(
        {scenario.plan.jobs[0].spec, clone, scenario.plan.jobs[0].queue, clone});
  }
  const PhaseResult result = MustRun(scenario);
  ASSERT_EQ(result.jobs.size(), 32u);
  for (size_t i = 0; i < 32; i++) {
    EXPECT_EQ(result.jobs[i].clone, i);
    EXPECT_NEAR(Iops(result, i), 200, 10);
  }
}

TEST(SimExecutor, SmallBatchesOfCompletionsAreWaitedFor) {
  SimScenario scenario;
  scenario.Add("fair", 10 * kMs, 32, 0.5);
  scenario.jobs[0].batch_submit = 16;
  scenario.jobs[0].batch_complete = 16;
  const PhaseResult result = MustRun(scenario);
  const JobRecord& job = result.jobs[0];
  EXPECT_NEAR(static_cast<double>(job.directions[0].ios) / static_cast<double>(job.reap_calls), 16,
              0.01);
  EXPECT_NEAR(static_cast<double>(job.directions[0].ios) / static_cast<double>(job.submit_calls),
              16, 0.2);
}

TEST(SimExecutor, ReportsProgressAndStopsWhenInterrupted) {
  SimScenario scenario;
  scenario.Add("fair", kMs, 8);
  std::vector<int64_t> progress;
  PhaseHooks hooks;
  hooks.progress = [&](int64_t elapsed_ns) { progress.push_back(elapsed_ns); };
  hooks.interrupted = [&] { return progress.size() >= 8; };
  const PhaseResult result = MustRun(scenario, hooks);
  EXPECT_TRUE(result.interrupted);
  EXPECT_GE(result.window_close_ns, 4 * kSecond);
  EXPECT_LT(result.window_close_ns, 5 * kSecond);
  EXPECT_EQ(progress.front(), kSecond / 2);
  EXPECT_NEAR(Iops(result, 0), 8000, 10);
}

TEST(SimExecutor, IsInterruptedWhileManyJobsAreSetUpAndStarted) {
  SimScenario scenario;
  scenario.Add("fair", kMs, 256);
  for (uint32_t clone = 1; clone < 500; clone++) {
    scenario.plan.jobs.push_back({&scenario.jobs[0], clone, &scenario.queues[0], clone});
  }
  uint64_t polls = 0;
  uint64_t limit = 100;
  PhaseHooks hooks;
  hooks.interrupted = [&] { return ++polls >= limit; };
  SimExecutor executor;
  const auto unopened = executor.RunPhase(scenario.plan, hooks);
  ASSERT_FALSE(unopened);
  EXPECT_EQ(unopened.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(polls, limit);

  // All are open, and 99 have started: what these have in flight is awaited, no more.
  polls = 0;
  limit = 600;
  const PhaseResult result = MustRun(scenario, hooks);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(polls, limit);
  ASSERT_EQ(result.jobs.size(), 500u);
  EXPECT_EQ(result.jobs[0].ios_drained, 256u);
  EXPECT_EQ(result.jobs[98].ios_drained, 256u);
  EXPECT_EQ(result.jobs[99].ios_drained, 0u);
  EXPECT_EQ(result.jobs[499].ios_drained, 0u);
}

TEST(SimExecutor, APhaseGoesOnWhereTheLastOneLeftTheWorld) {
  SimScenario scenario;
  scenario.Add("fair", kMs, 1);
  SimExecutor executor;
  ASSERT_TRUE(executor.RunPhase(scenario.plan, {}));
  const SimQueue* queue = executor.world().FindQueue("pair:0");
  ASSERT_NE(queue, nullptr);
  EXPECT_TRUE(queue->active());
  EXPECT_TRUE(executor.Sleep(6 * kSecond, nullptr));
  EXPECT_FALSE(queue->active());
  const int64_t before_ns = executor.NowNs();
  ASSERT_TRUE(executor.RunPhase(scenario.plan, {}));
  EXPECT_EQ(executor.NowNs() - before_ns, 12 * kSecond);
  EXPECT_FALSE(executor.Sleep(kSecond, [] { return true; }));
}

TEST(SimExecutor, WhatDoesNotComeBackInTimeIsOutstanding) {
  SimScenario scenario;
  scenario.Add("fair", 100 * kSecond, 4);
  scenario.plan.drain_limit_ns = kSecond;
  SimExecutor executor;
  const auto result = executor.RunPhase(scenario.plan, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->jobs[0].outstanding, 4u);
  EXPECT_EQ(result->jobs[0].in_flight_at_close, 4u);
  // The next phase is not confused by their late return.
  scenario.plan.runtime_ns = 200 * kSecond;
  scenario.plan.drain_limit_ns = 300 * kSecond;
  const auto next = executor.RunPhase(scenario.plan, {});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->jobs[0].outstanding, 0u);
}

TEST(SimExecutor, RefusesEnginesThatKnowNoVirtualTime) {
  SimScenario scenario;
  scenario.Add("fair", kMs, 1);
  scenario.jobs[0].engine = "null";
  const auto result = SimExecutor().RunPhase(scenario.plan, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
  EXPECT_NE(result.error().message.find("virtual time"), std::string::npos);
}

}  // namespace
}  // namespace blkfair
