// The clock: conversion of ticks, the choice between TSC and CLOCK_MONOTONIC, and the watch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/clock.h"
#include "base/clock_watch.h"
#include "base/run_clock.h"
#include "base/tsc.h"

namespace blkfair {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kYearNs = 366 * 24 * 3600 * kSecondNs;

TEST(TickScale, ConvertsAYearOfTicksWithoutWrapping) {
  for (const double ghz : {0.1, 1.0, 2.445, 3.7, 5.8}) {
    const auto hz = static_cast<uint64_t>(ghz * 1e9);
    const TickScale scale = TickScale::Of(hz, kSecondNs);
    const double year = static_cast<double>(kYearNs) * 1e-9 * static_cast<double>(hz);
    const int64_t ns = scale.ToNs(static_cast<int64_t>(10 * year));
    // The multiplier has 32 bits behind the point: a part in 10^9 at worst.
    EXPECT_NEAR(static_cast<double>(ns) / (10 * static_cast<double>(kYearNs)), 1, 5e-9) << ghz;
    EXPECT_NEAR(scale.TicksPerSecond() / static_cast<double>(hz), 1, 5e-9);
  }
}

TEST(TickScale, NeverFallsFromOneTickToTheNext) {
  const TickScale scale = TickScale::Of(2'445'404'000, kSecondNs);
  const int64_t far = int64_t{3} << 55;
  for (const int64_t from : {int64_t{-1000}, int64_t{0}, far}) {
    for (int64_t ticks = from; ticks < from + 2000; ticks++) {
      ASSERT_LE(scale.ToNs(ticks), scale.ToNs(ticks + 1)) << ticks;
      ASSERT_GE(scale.ToNs(ticks) + 1, scale.ToNs(ticks + 1)) << ticks;
    }
  }
}

struct SetTicks {
  const uint64_t* ticks;
  uint64_t Ticks() const { return *ticks; }
};

TEST(TickClock, GoesOnWhereTheCounterWrapsAt64Bits) {
  uint64_t ticks = ~uint64_t{0} - 99;
  const TickClock<SetTicks> clock({&ticks}, TickScale::Of(1, 1), ticks, 7000);
  ticks += 50;
  EXPECT_EQ(clock.NowNs(), 7050);
  ticks += 150;
  EXPECT_EQ(clock.NowNs(), 7200);
}

TEST(TickClock, AReadBeforeTheMomentItBeganAtIsEarlierAndNotCenturiesLater) {
  uint64_t ticks = 1000;
  const TickClock<SetTicks> clock({&ticks}, TickScale::Of(1, 1), ticks, 7000);
  ticks = 900;
  EXPECT_EQ(clock.NowNs(), 6900);
}

TEST(WhyNotTsc, EveryConditionIsNamed) {
  if (!TscTicks::kExists) GTEST_SKIP() << "this architecture has no TSC";
  EXPECT_EQ(WhyNotTsc(true, "tsc"), "");
  EXPECT_EQ(WhyNotTsc(true, "kvm-clock"), "the kernel's clocksource is kvm-clock, not tsc");
  EXPECT_EQ(WhyNotTsc(true, ""), "the kernel's clocksource is unknown, not tsc");
  EXPECT_EQ(WhyNotTsc(false, "tsc"), "the CPU does not promise an invariant TSC");
}

TEST(CountWarps, CountsTheReadsThatWentBackwardsWhoeverMadeThem) {
  std::vector<TickMark> marks = {{0, 100}, {2, 300}, {1, 200}, {3, 300}};
  EXPECT_EQ(CountWarps(marks), 0U);
  // The second CPU is 150 ticks behind the first.
  marks = {{0, 1000}, {2, 1100}, {4, 1400}, {1, 900}, {3, 1250}};
  EXPECT_EQ(CountWarps(marks), 1U);
}

class RunClockTest : public ::testing::Test {
 protected:
  RunClockTest() {
    std::filesystem::create_directories(dir_ + "/sys/devices/system/clocksource/clocksource0");
  }
  ~RunClockTest() override { std::filesystem::remove_all(dir_); }
  void SetClocksource(const std::string& name) const {
    std::ofstream(dir_ + "/sys/devices/system/clocksource/clocksource0/current_clocksource")
        << name << "\n";
  }

  const std::string dir_ = ::testing::TempDir() + "run_clock_" + std::to_string(::getpid());
  const KernelFs fs_ = KernelFs(KernelRoots::Under(dir_));
};

TEST_F(RunClockTest, WhereTheKernelDoesNotTrustTheTscItIsNotUsed) {
  SetClocksource("acpi_pm");
  const RunClock clock = RunClock::Choose(fs_);
  const ClockFacts facts = clock.Facts();
  EXPECT_EQ(facts.source, "CLOCK_MONOTONIC");
  EXPECT_FALSE(facts.why.empty());
  EXPECT_GT(facts.read_cost_ns, 0);
  EXPECT_TRUE(facts.suspect.empty());
  EXPECT_TRUE(std::holds_alternative<MonotonicClock>(clock.StartPhase()));
}

TEST_F(RunClockTest, TheTscAgreesWithClockMonotonic) {
  if (const std::string why_not = WhyNotTsc(HasInvariantTsc(), "tsc"); !why_not.empty()) {
    GTEST_SKIP() << why_not;
  }
  const RunClock clock = RunClock::ForceTsc();
  const JobClock phase = clock.StartPhase();
  ASSERT_TRUE(std::holds_alternative<TscClock>(phase));
  const TscClock& tsc = std::get<TscClock>(phase);
  const MonotonicClock monotonic;
  const int64_t begin_ns = monotonic.NowNs();
  while (monotonic.NowNs() < begin_ns + 150'000'000) {
    const int64_t before_ns = monotonic.NowNs();
    const int64_t now_ns = tsc.NowNs();
    const int64_t after_ns = monotonic.NowNs();
    ASSERT_GT(now_ns, before_ns - 500'000);
    ASSERT_LT(now_ns, after_ns + 500'000);
  }
  const ClockFacts facts = clock.Facts();
  EXPECT_EQ(facts.source, "TSC");
  EXPECT_EQ(facts.in_user_space, true);
  ASSERT_TRUE(facts.drift_ppm);
  EXPECT_LT(std::abs(*facts.drift_ppm), 1000);
  EXPECT_EQ(facts.suspect, "");
}

TEST(WhySuspect, NamesWhatTheEndCheckSaw) {
  EXPECT_EQ(WhySuspect("TSC", 999'000, 0), "");
  EXPECT_EQ(WhySuspect("TSC", -50'000'000, 60 * kSecondNs), "");
  EXPECT_EQ(WhySuspect("TSC", kSecondNs, 60 * kSecondNs),
            "TSC was 1.000 s ahead of CLOCK_MONOTONIC_RAW after 60.000 s");
  EXPECT_EQ(WhySuspect("TSC", -kSecondNs, 60 * kSecondNs),
            "TSC was 1.000 s behind CLOCK_MONOTONIC_RAW after 60.000 s");
}

TEST(MonotonicStaysInUserSpace, CanBeFoundOutHere) {
  const std::optional<bool> stays = MonotonicStaysInUserSpace();
  if (!stays) GTEST_SKIP() << "no seccomp here";
  // Valgrind and some kernels hide the vDSO: both answers are possible, twice the same is a must.
  EXPECT_EQ(MonotonicStaysInUserSpace(), stays);
}

// CLOCK_MONOTONIC_RAW and whatever the test adds.
class BentClock {
 public:
  explicit BentClock(const int64_t* added_ns) : added_ns_(added_ns) {}
  int64_t NowNs() const { return ReadClockNs(CLOCK_MONOTONIC_RAW) + *added_ns_; }

 private:
  const int64_t* added_ns_;
};

TEST(ClockWatch, SeesEachStepOnceInEitherDirection) {
  int64_t added_ns = 0;
  const BentClock clock(&added_ns);
  ClockWatchOf<BentClock> watch(clock);
  EXPECT_FALSE(watch.HasStepped(clock.NowNs()));
  for (const int64_t step_ns : {kSecondNs, 5'000'000L, -5'000'000L, -kSecondNs}) {
    added_ns += step_ns;
    EXPECT_TRUE(watch.HasStepped(clock.NowNs())) << step_ns;
    EXPECT_FALSE(watch.HasStepped(clock.NowNs())) << step_ns;
  }
}

TEST(ClockWatch, SeesAReadingFromTheFuture) {
  int64_t added_ns = 0;
  const BentClock clock(&added_ns);
  ClockWatchOf<BentClock> watch(clock);
  EXPECT_TRUE(watch.HasStepped(clock.NowNs() + kSecondNs));
  EXPECT_FALSE(watch.HasStepped(clock.NowNs()));
}

}  // namespace
}  // namespace blkfair
