// The gates before all assertions, the exit codes, and who passes on which kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "results/fairness/judge.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using testing::JobIn;
using testing::MakeAssert;
using testing::PhaseIn;

class JudgeTest : public ::testing::Test {
 protected:
  JudgeTest() { Assert(Contention::kRequired); }

  // One assertion that holds on a fair kernel.
  void Assert(Contention contention) {
    scenario_.asserts = {MakeAssert("slowdown", {"contention"},
                                    {{"job", "light"}, {"metric", "iops"}, {"max", 1.3}},
                                    contention)};
  }
  Judgement Run() const { return Judge(scenario_, records_); }
  PhaseRecord& Contended() { return PhaseIn(records_.back(), "contention"); }
  TagSetPhaseRecord& TagSet() { return Contended().tag_sets.front(); }
  void UseNofair() { records_ = {testing::NofairRecord(scenario_)}; }

  void ExpectOutcome(Outcome outcome, int exit_code, std::string_view why) const {
    const Judgement judgement = Run();
    ASSERT_EQ(judgement.verdicts.size(), 1U);
    const Verdict& verdict = judgement.verdicts.front();
    EXPECT_EQ(verdict.outcome, outcome) << OutcomeName(verdict.outcome) << ": " << verdict.why;
    EXPECT_EQ(judgement.exit_code, exit_code);
    EXPECT_NE(verdict.why.find(why), std::string::npos) << verdict.why;
  }

  Scenario scenario_ = testing::LopsidedScenario();
  std::vector<Record> records_ = {testing::StockRecord(scenario_)};
};

std::vector<std::string> NamesWith(const Judgement& judgement, Outcome outcome) {
  std::vector<std::string> names;
  for (const Verdict& verdict : judgement.verdicts) {
    if (verdict.outcome == outcome) names.push_back(verdict.assertion);
  }
  return names;
}

TEST_F(JudgeTest, LopsidedScenarioPassesOnStock) {
  scenario_.asserts = testing::LopsidedAsserts();
  const Judgement judgement = Run();
  EXPECT_EQ(judgement.exit_code, 0);
  EXPECT_EQ(judgement.outcome, Outcome::kPass);
  EXPECT_EQ(NamesWith(judgement, Outcome::kPass).size(), scenario_.asserts.size());
  EXPECT_TRUE(judgement.warnings.empty());
  EXPECT_FALSE(judgement.partial);
}

TEST_F(JudgeTest, LopsidedScenarioFailsWithoutFairnessByTheLightRateAndTheHeavyTags) {
  scenario_.asserts = testing::LopsidedAsserts();
  UseNofair();
  const Judgement judgement = Run();
  EXPECT_EQ(judgement.exit_code, 1);
  EXPECT_EQ(NamesWith(judgement, Outcome::kFail),
            (std::vector<std::string>{"light_rate", "light_tail", "heavy_tags", "light_moves"}));
  EXPECT_EQ(NamesWith(judgement, Outcome::kPass),
            (std::vector<std::string>{"heavy_moves", "heavy_alone_uses_all"}));
}

// --- outcomes of the run ---

TEST_F(JudgeTest, RunThatDiedIsAnError) {
  records_[0] = testing::MakeRecord(scenario_);
  records_[0].outcome = RunOutcome::kDied;
  records_[0].outcome_why = "the guest hung";
  ExpectOutcome(Outcome::kError, 3, "the guest hung");
}

TEST_F(JudgeTest, RunThatFailedToRestoreIsAnErrorThoughItsFiguresAreThere) {
  records_[0].outcome = RunOutcome::kError;
  records_[0].outcome_why = "remove nullb0: Device or resource busy";
  ExpectOutcome(Outcome::kError, 3, "busy");
  EXPECT_EQ(Run().verdicts.front().observed, "1.01");
}

TEST_F(JudgeTest, RunThatDiedIsAnErrorEvenWhenNothingIsAsserted) {
  scenario_.asserts.clear();
  EXPECT_EQ(Run().exit_code, 4);
  records_[0].outcome = RunOutcome::kDied;
  EXPECT_EQ(Run().exit_code, 3);
}

TEST_F(JudgeTest, UnmetRequirementIsASkip) {
  records_[0] = testing::MakeRecord(scenario_);
  records_[0].outcome = RunOutcome::kUnmet;
  records_[0].outcome_why = "module null_blk is missing";
  const Judgement judgement = Run();
  EXPECT_EQ(judgement.exit_code, 77);
  EXPECT_TRUE(judgement.verdicts.empty());
  ASSERT_EQ(judgement.warnings.size(), 1U);
  EXPECT_NE(judgement.warnings[0].find("null_blk is missing"), std::string::npos);
}

TEST_F(JudgeTest, OneSkippedRunOfSeveralIsNotAPass) {
  records_.push_back(testing::MakeRecord(scenario_));
  records_[1].outcome = RunOutcome::kUnmet;
  ExpectOutcome(Outcome::kInconclusive, 4, "record 2 of 2: this run was skipped");
}

TEST_F(JudgeTest, InterruptedBeforeThePhase) {
  records_[0].outcome = RunOutcome::kInterrupted;
  records_[0].phases.pop_back();
  ExpectOutcome(Outcome::kInconclusive, 130, "interrupted before phase contention");
  EXPECT_TRUE(Run().partial);
}

TEST_F(JudgeTest, InterruptedWithinThePhase) {
  records_[0].outcome = RunOutcome::kInterrupted;
  Contended().partial = true;
  Contended().window_close_ns = Contended().window_open_ns + 1'500'000'000;
  ExpectOutcome(Outcome::kInconclusive, 130,
                "phase contention was cut short: a window of 1.50 s of 10 s");
}

TEST_F(JudgeTest, InterruptedAfterThePhaseIsJudgedAsMeasured) {
  records_[0].outcome = RunOutcome::kInterrupted;
  ExpectOutcome(Outcome::kPass, 130, "");
  UseNofair();
  records_[0].outcome = RunOutcome::kInterrupted;
  ExpectOutcome(Outcome::kFail, 130, "");
}

TEST_F(JudgeTest, CompleteRecordWithoutThePhaseIsAnError) {
  records_[0].phases.pop_back();
  ExpectOutcome(Outcome::kError, 3, "no phase contention");
}

TEST_F(JudgeTest, RecordsOfDifferentScenariosAreRefused) {
  records_.push_back(records_[0]);
  records_[1].scenario_hash = "other";
  EXPECT_EQ(Run().exit_code, 2);
}

TEST_F(JudgeTest, ScenarioWithAnImpossibleAssertionIsRefused) {
  scenario_.asserts[0].params.Set("job", std::string("nobody"));
  const Judgement judgement = Run();
  EXPECT_EQ(judgement.exit_code, 2);
  EXPECT_TRUE(judgement.verdicts.empty());
  EXPECT_FALSE(judgement.warnings.empty());
}

// --- workers, errors, clock ---

TEST_F(JudgeTest, OutstandingIoIsAnError) {
  JobIn(Contended(), "heavy").outstanding = 3;
  ExpectOutcome(Outcome::kError, 3, "3 I/Os of heavy never came back");
}

TEST_F(JudgeTest, WorkerWithoutFiguresIsAnError) {
  Contended().jobs.erase(Contended().jobs.begin());
  ExpectOutcome(Outcome::kError, 3, "1 of 1 workers of heavy left no figures");
}

TEST_F(JudgeTest, ErrorsAreInconclusive) {
  JobIn(Contended(), "heavy").errors = {{"read EIO", 2}};
  ExpectOutcome(Outcome::kInconclusive, 4, "heavy had errors in phase contention: 2 x read EIO");
}

TEST_F(JudgeTest, ClockAnomaliesAreInconclusive) {
  JobIn(Contended(), "light").clock_anomalies = 1;
  ExpectOutcome(Outcome::kInconclusive, 4, "clock suspect");
}

TEST_F(JudgeTest, ClockThatFailedItsEndCheckIsInconclusive) {
  records_[0].environment.clock_suspect =
      "TSC was 1.000 s ahead of CLOCK_MONOTONIC_RAW after 61.000 s";
  ExpectOutcome(Outcome::kInconclusive, 4, "clock suspect: TSC was 1.000 s ahead");
}

TEST_F(JudgeTest, AClockIsDoubtedBeforeTheWindowThatItMeasured) {
  JobIn(Contended(), "light").clock_anomalies = 1;
  Contended().window_close_ns = Contended().window_open_ns;
  ExpectOutcome(Outcome::kInconclusive, 4, "clock suspect");
}

// The report of a guest whose CPU clock jumped by a second now and then: depth 1, 955 IOPS, a mean
// latency of 1.889 ms, that is 1.80 I/Os in flight, and one at most can be.
TEST_F(JudgeTest, B06LittlesLawBrokenMakesTheClockSuspect) {
  LatencyStats lat = testing::MakeLatency(9542, 880'000, 880'000, 0);
  for (int i = 0; i < 8; i++) lat.Add(1'205'000'000);
  EXPECT_NEAR(*lat.mean_ns(), 1'889'417, 1'000);
  JobIn(Contended(), "light").directions.front().lat = lat;
  ExpectOutcome(Outcome::kInconclusive, 4, "clock suspect: light had 1.80 I/Os in flight");
}

TEST_F(JudgeTest, LittlesLawAllowsForWhatWasInFlightWhenTheWindowOpened) {
  // One batch of 256 more than the window could hold: all were made before it.
  JobRecord& heavy = JobIn(Contended(), "heavy");
  const uint64_t ios = heavy.directions.front().ios;
  heavy.directions.front().lat = testing::MakeLatency(ios + 200, 822'000'000, 822'000'000, 0);
  ExpectOutcome(Outcome::kPass, 0, "");
}

TEST_F(JudgeTest, UnsettledSetIsInconclusive) {
  Contended().settled = false;
  ExpectOutcome(Outcome::kInconclusive, 4, "longer settle");
}

TEST_F(JudgeTest, ErrorsOfSoloPhaseShutTheSlowdownThatRefersToIt) {
  JobIn(PhaseIn(records_[0], "solo_light"), "light").errors = {{"read EIO", 2}};
  ExpectOutcome(Outcome::kInconclusive, 4, "errors in phase solo_light");
}

TEST_F(JudgeTest, ShutGatesHoldFailuresBackToo) {
  UseNofair();
  JobIn(Contended(), "light").clock_anomalies = 1;
  ExpectOutcome(Outcome::kInconclusive, 4, "clock suspect");
}

TEST_F(JudgeTest, AnErrorInOneRecordOutweighsDoubtsAboutAnother) {
  records_.push_back(records_[0]);
  JobIn(PhaseIn(records_[0], "contention"), "light").clock_anomalies = 1;
  JobIn(PhaseIn(records_[1], "contention"), "light").outstanding = 1;
  ExpectOutcome(Outcome::kError, 3, "record 2 of 2");
}

// --- contention ---

TEST_F(JudgeTest, ContentionInEightyPercentOfTheSamplesIsEnough) {
  TagSet().samples_contended = TagSet().samples * 8 / 10;
  ExpectOutcome(Outcome::kPass, 0, "");
  TagSet().samples_contended -= 1;
  ExpectOutcome(Outcome::kInconclusive, 4, "no contention: in 159 of 200 samples");
}

TEST_F(JudgeTest, DemandThatTheSetCanSatisfyIsNoContention) {
  TagSet().demand = 64;
  ExpectOutcome(Outcome::kInconclusive, 4, "no contention: a demand of 64");
}

TEST_F(JudgeTest, ContentionThatWasNotSampledWasNotSeen) {
  TagSet().samples = TagSet().samples_contended = 0;
  ExpectOutcome(Outcome::kInconclusive, 4, "not sampled");
  Contended().tag_sets.clear();
  ExpectOutcome(Outcome::kInconclusive, 4, "not observed");
}

TEST_F(JudgeTest, QueuesWithTagsOfTheirOwnDoNotContend) {
  records_[0].fixtures[0].shared = false;
  ExpectOutcome(Outcome::kInconclusive, 4, "tags of their own");
}

TEST_F(JudgeTest, OneQueueAloneDoesNotContend) {
  scenario_.asserts = {
      MakeAssert("gap", {"solo_heavy"}, {{"max", int64_t{500'000'000}}, {"job", "heavy"}})};
  ExpectOutcome(Outcome::kInconclusive, 4, "one queue of pair alone");
}

TEST_F(JudgeTest, ContentionIsNotLookedAtWhereAnyWillDo) {
  Assert(Contention::kAny);
  TagSet().samples_contended = 0;
  ExpectOutcome(Outcome::kPass, 0, "");
}

TEST_F(JudgeTest, AbsentContentionPassesOnlyWhereNoneWasSeen) {
  Assert(Contention::kAbsent);
  ExpectOutcome(Outcome::kInconclusive, 4, "contention was seen");
  TagSet().samples_contended = 0;
  ExpectOutcome(Outcome::kPass, 0, "");
  TagSet().samples = 0;
  ExpectOutcome(Outcome::kInconclusive, 4, "not sampled");
  records_[0].fixtures[0].shared = false;
  ExpectOutcome(Outcome::kPass, 0, "");
  UseNofair();
  records_[0].fixtures[0].shared = false;
  ExpectOutcome(Outcome::kFail, 1, "");
}

TEST_F(JudgeTest, OnlyTheSetsThatTheAssertionIsAboutMatter) {
  TagSetPhaseRecord other;
  other.fixture = "other";
  other.demand = 1;
  other.usable_tags = 64;
  Contended().tag_sets.push_back(other);
  ExpectOutcome(Outcome::kPass, 0, "");
}

TEST_F(JudgeTest, B16AnAntagonistThatNeverReachedItsDepthIsAnError) {
  JobIn(Contended(), "heavy").depth_max = 1;
  ExpectOutcome(Outcome::kError, 3,
                "heavy had 1 I/Os in flight at most in phase contention, of an iodepth of 256");
  scenario_.jobs[0].think_time_ns = 1'000'000;
  ExpectOutcome(Outcome::kPass, 0, "");
  scenario_.jobs[0].think_time_ns = 0;
  scenario_.jobs[0].rate_iops = 10;
  ExpectOutcome(Outcome::kPass, 0, "");
}

TEST_F(JudgeTest, ARateThatTheGeneratorItselfDidNotKeepIsInconclusive) {
  JobRecord& light = JobIn(Contended(), "light");
  light.open_loop = OpenLoopRecord{.rate_iops = 1000, .process = "fixed", .due = 10'000};
  light.open_loop->late = 3000;  // by the device's fault: that is a result
  light.open_loop->behind_ns = 499'000'000;
  ExpectOutcome(Outcome::kPass, 0, "");
  light.open_loop->behind_ns = 501'000'000;
  ExpectOutcome(Outcome::kInconclusive, 4,
                "the generator of light did not keep rate_iops = 1000 in phase contention");
}

TEST_F(JudgeTest, AWorkerThatEndedEarlyIsAnErrorThatNamesIt) {
  JobIn(Contended(), "heavy").ended_early =
      "job heavy: its process was killed by signal 9 (Killed)";
  ExpectOutcome(Outcome::kError, 3, "job heavy: its process was killed by signal 9 (Killed)");
}

// --- warnings ---

TEST_F(JudgeTest, B14DepthThatWasNotReachedIsAWarning) {
  JobIn(Contended(), "heavy").depth_mean = 127;
  const Judgement judgement = Run();
  ASSERT_EQ(judgement.warnings.size(), 1U);
  EXPECT_NE(judgement.warnings[0].find("127.0 I/Os in flight of an iodepth of 256"),
            std::string::npos);
  EXPECT_EQ(judgement.exit_code, 0);
  scenario_.jobs[0].think_time_ns = 1'000'000;
  EXPECT_TRUE(Run().warnings.empty());
}

TEST_F(JudgeTest, BusyGeneratorIsAWarning) {
  JobIn(Contended(), "light").cpu_user_ns = 10'500'000'000;
  ASSERT_EQ(Run().warnings.size(), 1U);
  EXPECT_NE(Run().warnings[0].find("generator"), std::string::npos);
  EXPECT_EQ(Run().exit_code, 0) << "its depth was full: the device was the slower one";
}

TEST_F(JudgeTest, ARateThatTheGeneratorBoundIsInconclusive) {
  JobRecord& light = JobIn(Contended(), "light");
  light.cpu_user_ns = 7'000'000'000;
  light.cpu_system_ns = 3'800'000'000;
  light.depth_mean = 0.8;
  ExpectOutcome(Outcome::kInconclusive, 4,
                "generator-bound: light used 98% of a CPU in phase contention and kept 0.8 of 1");
  // Its latency, and the rate of others, are not its generator's.
  scenario_.asserts = {MakeAssert("slowdown", {"contention"},
                                  {{"job", "light"}, {"metric", "lat_p99"}, {"max", 9.0}})};
  EXPECT_EQ(Run().exit_code, 0);
  ASSERT_EQ(Run().warnings.size(), 1U);
  scenario_.asserts = {
      MakeAssert("slowdown", {"contention"}, {{"job", "heavy"}, {"metric", "iops"}, {"max", 9.0}})};
  EXPECT_EQ(Run().exit_code, 0);
}

TEST_F(JudgeTest, TheRateAloneThatASlowdownRefersToMustNotBeTheGeneratorsEither) {
  JobRecord& light = JobIn(PhaseIn(records_[0], "solo_light"), "light");
  light.cpu_user_ns = 10'900'000'000;
  light.depth_mean = 0.5;
  ExpectOutcome(Outcome::kInconclusive, 4, "in phase solo_light");
}

TEST_F(JudgeTest, KernelCountersThatAgreeWithinTheIosInFlightAreSilent) {
  KernelCountsRecord& reads = Contended().queues[0].kernel->counts[0];
  reads.bytes -= 255 * 4096;
  EXPECT_TRUE(Run().warnings.empty());
  // null_blk takes 127 KiB at a time at most: requests are not I/Os.
  reads.requests *= 2;
  EXPECT_TRUE(Run().warnings.empty());
}

TEST_F(JudgeTest, KernelCountersThatDisagreeAreAWarning) {
  Contended().queues[0].kernel->counts[0].bytes += 300 * 4096;
  ASSERT_EQ(Run().warnings.size(), 1U);
  EXPECT_NE(Run().warnings[0].find("pair:0 in phase contention: the kernel counted"),
            std::string::npos)
      << Run().warnings[0];
  EXPECT_EQ(Run().exit_code, 0);
  JobIn(Contended(), "heavy").errors = {{"read EIO", 100}};
  EXPECT_TRUE(Run().warnings.empty()) << "failed I/Os are the kernel's too";
}

TEST_F(JudgeTest, KernelCountersOfADirectionThatNoJobHasAreAWarning) {
  Contended().queues[1].kernel->counts.push_back({"write", 9, 0, 9 * 4096, 0});
  ASSERT_EQ(Run().warnings.size(), 1U);
  EXPECT_NE(Run().warnings[0].find("9 writes of 36KiB, the jobs 0 of 0B"), std::string::npos)
      << Run().warnings[0];
}

TEST_F(JudgeTest, KernelCountersSayNothingOfIoThatPassesByThem) {
  Contended().queues[0].kernel->counts[0].bytes *= 2;
  scenario_.jobs[0].direct = false;
  EXPECT_TRUE(Run().warnings.empty());
  scenario_.jobs[0].direct = true;
  JobIn(Contended(), "heavy").engine = "io_uring_cmd";
  EXPECT_TRUE(Run().warnings.empty());
}

TEST_F(JudgeTest, TagsThatThroughputTimesServiceDoesNotBearOutAreAWarning) {
  OccupancyRecord& heavy = *Contended().queues[0].occupancy;
  heavy.service_mean = *heavy.mean * 1.2;
  EXPECT_TRUE(Run().warnings.empty());
  heavy.service_mean = *heavy.mean * 2;
  ASSERT_EQ(Run().warnings.size(), 1U);
  EXPECT_NE(Run().warnings[0].find("throughput x service"), std::string::npos);
}

// --- exit codes ---

int Precedence(int code) {
  constexpr int kOrder[] = {130, 2, 3, 1, 4, 0, 77};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), code) -
                          std::begin(kOrder));
}

TEST(CombineExitCodes, EveryCombination) {
  constexpr int kCodes[] = {0, 1, 2, 3, 4, 77, 130};
  constexpr size_t kCount = std::size(kCodes);
  for (unsigned set = 1; set < 1U << kCount; set++) {
    std::vector<int> codes;
    for (size_t i = 0; i < kCount; i++) {
      if ((set >> i & 1) != 0) codes.push_back(kCodes[i]);
    }
    const int expected = *std::min_element(
        codes.begin(), codes.end(), [](int a, int b) { return Precedence(a) < Precedence(b); });
    do {
      ASSERT_EQ(CombineExitCodes(codes), expected);
    } while (std::next_permutation(codes.begin(), codes.end()) && codes.size() < 5);
  }
}

TEST(CombineExitCodes, NothingJudgedIsInconclusive) { EXPECT_EQ(CombineExitCodes({}), 4); }

TEST(CombineExitCodes, OnlyWhenAllWereSkippedItIsASkip) {
  EXPECT_EQ(CombineExitCodes(std::vector<int>{77, 77}), 77);
  EXPECT_EQ(CombineExitCodes(std::vector<int>{77, 0}), 0);
  EXPECT_EQ(CombineExitCodes(std::vector<int>{77, 4}), 4);
}

// Two assertions, each with each outcome.
TEST_F(JudgeTest, ExitCodeOfSeveralVerdicts) {
  struct Case {
    Outcome outcome;
    int exit_code;
  };
  constexpr Case kCases[] = {
      {Outcome::kPass, 0}, {Outcome::kFail, 1}, {Outcome::kError, 3}, {Outcome::kInconclusive, 4}};
  // Phases that give the outcome: of the light job's gap, at most 50 ms.
  const auto prepare = [&](PhaseRecord& phase, Outcome outcome) {
    if (outcome == Outcome::kFail) JobIn(phase, "light").gap_max_ns = 60'000'000;
    if (outcome == Outcome::kError) JobIn(phase, "light").outstanding = 1;
    if (outcome == Outcome::kInconclusive) JobIn(phase, "light").clock_anomalies = 1;
  };
  for (const Case& first : kCases) {
    for (const Case& second : kCases) {
      records_ = {testing::StockRecord(scenario_)};
      prepare(PhaseIn(records_[0], "solo_light"), first.outcome);
      prepare(PhaseIn(records_[0], "contention"), second.outcome);
      scenario_.asserts = {MakeAssert("gap", {"solo_light", "contention"},
                                      {{"job", "light"}, {"max", int64_t{50'000'000}}},
                                      Contention::kAny)};
      const Judgement judgement = Run();
      ASSERT_EQ(judgement.verdicts.size(), 2U);
      EXPECT_EQ(judgement.verdicts[0].outcome, first.outcome);
      EXPECT_EQ(judgement.verdicts[1].outcome, second.outcome);
      const int expected = Precedence(first.exit_code) < Precedence(second.exit_code)
                               ? first.exit_code
                               : second.exit_code;
      EXPECT_EQ(judgement.exit_code, expected);
    }
  }
}

}  // namespace
}  // namespace blkfair
