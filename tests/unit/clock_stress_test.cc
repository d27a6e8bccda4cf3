// The clock under stress: many threads on few CPUs that pre-empt each other and migrate, on a
// counter that keeps time and on counters that do not. An honest counter gives no anomaly at all;
// a lying one gives no impossible latency, and every job on it says so.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/clock_watch.h"
#include "base/hash.h"
#include "engines/wait.h"
#include "harness/run/job_loop_steps.h"
#include "results/fairness/gates.h"

namespace blkfair {
namespace {

constexpr uint32_t kThreads = 12;
constexpr int64_t kRuntimeNs = 300'000'000;
constexpr int64_t kCellNs = 50'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;
// A counter whose value before some moment is unlike that after it does so here.
constexpr int64_t kTroubleNs = 120'000'000;
constexpr uint64_t kTicksPerNs = 3;

uint64_t HonestTicks() {
  return kTicksPerNs * static_cast<uint64_t>(ReadClockNs(CLOCK_MONOTONIC_RAW));
}

struct Honest {
  uint64_t Ticks() const { return HonestTicks(); }
};

enum class Trouble : uint8_t { kForward, kBackward, kWraps, kGlitches, kCpusApart };

std::string NameOf(Trouble trouble) {
  constexpr std::array kNames = {"JumpsForward", "RunsBackwards", "Wraps", "Glitches", "CpusApart"};
  return kNames[static_cast<size_t>(trouble)];
}

class Lying {
 public:
  Lying(Trouble trouble, uint64_t begin) : trouble_(trouble), begin_(begin) {}

  uint64_t Ticks() const {
    constexpr uint64_t kSecond = kTicksPerNs * kSecondNs;
    constexpr uint64_t kMask = 0xffffffff;
    const uint64_t ticks = HonestTicks();
    const uint64_t trouble_at = begin_ + kTicksPerNs * kTroubleNs;
    switch (trouble_) {
      case Trouble::kForward:
        return ticks < trouble_at ? ticks : ticks + kSecond;
      case Trouble::kBackward:
        return ticks < trouble_at ? ticks : ticks - kSecond;
      case Trouble::kWraps:
        return (ticks - trouble_at) & kMask;
      case Trouble::kGlitches:  // for 50 us in every 2 ms
        return ticks / (kTicksPerNs * 50'000) % 40 == 0 ? ticks + kSecond : ticks;
      case Trouble::kCpusApart:
        return ::sched_getcpu() % 2 == 0 ? ticks : ticks + kSecond / 4;
    }
    return ticks;
  }

 private:
  Trouble trouble_;
  uint64_t begin_;
};

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Everything it takes completes at the next reap; on the way its thread gives up the CPU, sleeps or
// moves to another one. It knows by CLOCK_MONOTONIC how long an I/O can have taken at most.
class TurmoilEngine final : public Engine {
 public:
  explicit TurmoilEngine(uint64_t seed)
      : cpus_(AllowedCpus()),
        random_(seed),
        last_reap_ns_(clock_.NowNs()),
        before_last_reap_ns_(last_reap_ns_) {}

  Result<void> Open(const EngineOpenArgs&) override { return {}; }

  int Submit(std::span<const IoOp> ops) override {
    Bound();
    for (const IoOp& op : ops) {
      done_.push_back({op.slot, static_cast<int32_t>(op.length_bytes)});
    }
    Turmoil();
    return static_cast<int>(ops.size());
  }

  int Reap(std::span<IoCompletion> out, uint32_t, int64_t) override {
    Turmoil();
    const size_t count = std::min(out.size(), done_.size());
    std::copy_n(done_.begin(), count, out.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    before_last_reap_ns_ = last_reap_ns_;
    last_reap_ns_ = clock_.NowNs();
    return static_cast<int>(count);
  }

  // Between the last reap but one and now lies all of what was reaped last.
  void Bound() { longest_ns_ = std::max(longest_ns_, clock_.NowNs() - before_last_reap_ns_); }
  int64_t longest_ns() const { return longest_ns_; }

 private:
  void Turmoil() {
    random_ = Mix64(random_ + 1);
    if (random_ % 4 == 0) ::sched_yield();
    if (random_ % 64 == 1) SleepFor(20'000);
    if (random_ % 32 != 2) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus_[random_ / 32 % cpus_.size()], &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }

  const MonotonicClock clock_ = {};
  const std::vector<int> cpus_;
  uint64_t random_;
  std::vector<IoCompletion> done_;
  int64_t last_reap_ns_;
  int64_t before_last_reap_ns_;
  int64_t longest_ns_ = 0;
};

struct Ran {
  JobRecord record;
  int64_t longest_ns = 0;  // by CLOCK_MONOTONIC, no I/O can have taken longer
};

template <typename SourceT>
Ran RunJob(const SourceT& source, uint32_t index, const std::atomic<int64_t>& close_ns) {
  const TickClock<SourceT> clock(source, TickScale::Of(kTicksPerNs, 1), source.Ticks(), kSecondNs);
  JobLoopConfig config;
  config.iodepth = config.batch_submit = config.batch_complete = index % 2 == 0 ? 1 : 8;
  JobAccount::Shape shape;
  shape.iodepth = config.iodepth;
  shape.cell_ns = kCellNs;
  shape.length_ns = kRuntimeNs;
  JobSpec spec;
  Queue queue;
  queue.size_bytes = uint64_t{1} << 20;
  TurmoilEngine engine(index);
  JobAccount account(shape);
  JobLoop<TickClock<SourceT>> loop(config, *Workload::Make(spec, 0, queue, index), &engine,
                                   &account, clock);
  ClockWatchOf<TickClock<SourceT>> watch(clock);
  const int64_t now_ns = clock.NowNs();
  loop.Start({now_ns, now_ns, now_ns + kRuntimeNs}, &watch);
  loop.Run(close_ns);
  engine.Bound();
  Ran ran;
  account.Finish(loop.outstanding(), &ran.record);
  ran.longest_ns = engine.longest_ns();
  return ran;
}

// The jobs of all threads. A counter that ran backwards would let them go on: after twice their
// time they are told to stop.
template <typename SourceT>
std::vector<Ran> RunAll(const SourceT& source) {
  std::vector<Ran> all(kThreads);
  std::atomic<int64_t> close_ns = kSecondNs + kRuntimeNs;
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] { all[i] = RunJob(source, i, close_ns); });
  }
  SleepFor(2 * kRuntimeNs);
  close_ns.store(0, std::memory_order_relaxed);
  return all;
}

// Nothing that was counted took longer than it can have; what the clock added would be more.
void ExpectPossibleTimes(const Ran& ran) {
  constexpr int64_t kToleranceNs = 2 * kCellNs;
  for (const DirectionRecord& direction : ran.record.directions) {
    for (const LatencyStats* stats : {&*direction.slat, &direction.clat, &direction.lat}) {
      if (stats->count() == 0) continue;
      EXPECT_GE(*stats->min_ns(), 0);
      EXPECT_LT(*stats->max_ns(), ran.longest_ns + kToleranceNs);
    }
    EXPECT_EQ(direction.slat->sum_ns() + direction.clat.sum_ns(), direction.lat.sum_ns());
  }
  for (const SeriesCell& cell : ran.record.series) {
    EXPECT_LT(cell.lat_max_ns, ran.longest_ns + kToleranceNs);
  }
  EXPECT_LT(ran.record.gap_max_ns, ran.longest_ns + kToleranceNs);
}

TEST(ClockStress, AnHonestCounterGivesNoAnomaly) {
  const std::vector<Ran> all = RunAll(Honest{});
  for (const Ran& ran : all) {
    ExpectPossibleTimes(ran);
    EXPECT_EQ(ran.record.clock_anomalies, 0U);
    EXPECT_GT(ran.record.directions.front().ios, 0U);
  }
}

class ClockStressTrouble : public ::testing::TestWithParam<Trouble> {};

TEST_P(ClockStressTrouble, LeavesNoImpossibleTimeAndMakesTheRunSuspect) {
  if (GetParam() == Trouble::kCpusApart && AllowedCpus().size() < 2) {
    GTEST_SKIP() << "one CPU agrees with itself";
  }
  const std::vector<Ran> all = RunAll(Lying(GetParam(), HonestTicks()));
  size_t suspects = 0;
  for (const Ran& ran : all) {
    ExpectPossibleTimes(ran);
    // A glitch passes by a job that does not read the clock just then.
    if (GetParam() == Trouble::kGlitches && ran.record.clock_anomalies == 0) continue;
    EXPECT_GT(ran.record.clock_anomalies, 0U);
    suspects++;
    PhaseRecord phase;
    phase.jobs.push_back(ran.record);
    const std::optional<Gate> gate = PhaseGate(Scenario{}, phase);
    ASSERT_TRUE(gate);
    EXPECT_EQ(gate->outcome, Outcome::kInconclusive);
    EXPECT_NE(gate->why.find("clock suspect"), std::string::npos) << gate->why;
  }
  EXPECT_GT(suspects, 0U);
}

INSTANTIATE_TEST_SUITE_P(AllTroubles, ClockStressTrouble,
                         ::testing::Values(Trouble::kForward, Trouble::kBackward, Trouble::kWraps,
                                           Trouble::kGlitches, Trouble::kCpusApart),
                         [](const auto& row) { return NameOf(row.param); });

}  // namespace
}  // namespace blkfair
