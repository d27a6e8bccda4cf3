// Every assertion with a fair, an unfair and an inconclusive case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/units.h"
#include "results/fairness/assertion.h"
#include "results/fairness/judge.h"
#include "results/fairness/metric.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using testing::JobIn;
using testing::MakeAssert;
using testing::PhaseIn;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;
using Params = std::vector<std::pair<std::string_view, ParamValue>>;

// Judges one assertion, in phase "contention" unless said otherwise.
class AssertionTest : public ::testing::Test {
 protected:
  std::vector<Verdict> JudgeAll(AssertSpec spec) {
    scenario_.asserts = {std::move(spec)};
    judgement_ = Judge(scenario_, records_);
    return judgement_.verdicts;
  }
  Verdict JudgeOne(AssertSpec spec) {
    const std::vector<Verdict> verdicts = JudgeAll(std::move(spec));
    EXPECT_EQ(verdicts.size(), 1U);
    return verdicts.empty() ? Verdict{} : verdicts.front();
  }
  Verdict JudgeKind(std::string kind, Params params,
                    Contention contention = Contention::kRequired) {
    return JudgeOne(MakeAssert(std::move(kind), {"contention"}, std::move(params), contention));
  }
  void UseStock() { records_ = {testing::StockRecord(scenario_)}; }
  void UseNofair() { records_ = {testing::NofairRecord(scenario_)}; }
  PhaseRecord& Contended(size_t record = 0) { return PhaseIn(records_[record], "contention"); }

  // Nothing of the job came back, though it was waiting.
  void Starve(std::string_view job_name) {
    JobRecord& job = JobIn(Contended(), job_name);
    job.directions.front() = DirectionRecord{"read", 0, 0, LatencyStats{}, {}, {}};
    job.gap_max_ns = 10'000'000'000;
    job.gap_censored = true;
    for (QueueRecord& queue : Contended().queues) {
      if (queue.queue == job.queue) queue.ios = queue.bytes = 0;
    }
  }

  Scenario scenario_ = testing::LopsidedScenario();
  std::vector<Record> records_ = {testing::StockRecord(scenario_)};
  Judgement judgement_;
};

#define EXPECT_OUTCOME(verdict, expected)                                                    \
  EXPECT_EQ((verdict).outcome, Outcome::expected)                                            \
      << OutcomeName((verdict).outcome) << ", observed " << (verdict).observed << ", bound " \
      << (verdict).bound << ": " << (verdict).why

#define EXPECT_WHY(verdict, text) \
  EXPECT_NE((verdict).why.find(text), std::string::npos) << (verdict).why

// --- slowdown ---

TEST_F(AssertionTest, SlowdownTellsTheKernelsApart) {
  const Params params = {{"job", "light"}, {"metric", "iops"}, {"max", 1.3}};
  Verdict verdict = JudgeKind("slowdown", params);
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_NEAR(*verdict.observed_value, 920.0 / 907, 1e-9);
  EXPECT_EQ(verdict.observed, "1.01");
  EXPECT_EQ(verdict.bound, "<= 1.3");
  UseNofair();
  verdict = JudgeKind("slowdown", params);
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_NEAR(*verdict.observed_value, 920.0 / 215, 1e-9);
  EXPECT_WHY(verdict, "920 alone (solo_light), 215 beside others");
}

TEST_F(AssertionTest, SlowdownOfALatencyIsSharedOverAlone) {
  const Params params = {{"job", "light"}, {"metric", "lat_p99"}, {"max", 5.0}};
  EXPECT_OUTCOME(JudgeKind("slowdown", params), kPass);
  UseNofair();
  const Verdict verdict = JudgeKind("slowdown", params);
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_NEAR(*verdict.observed_value, 73.0 / 1.3, 1);
}

TEST_F(AssertionTest, SlowdownOfAStarvedJobFails) {
  Starve("light");
  const Verdict verdict = JudgeKind("slowdown", {{"job", "light"}, {"max", 1.3}});
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_WHY(verdict, "starved");
}

TEST_F(AssertionTest, SlowdownNeedsACleanSoloPhase) {
  PhaseIn(records_[0], "solo_light").partial = true;
  const Verdict verdict = JudgeKind("slowdown", {{"job", "light"}, {"max", 1.3}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_WHY(verdict, "solo_light was cut short");
}

TEST_F(AssertionTest, SlowdownRefersToTheNamedSoloPhase) {
  const Verdict verdict =
      JudgeKind("slowdown", {{"job", "light"}, {"solo", "contention"}, {"max", 1.1}});
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_EQ(*verdict.observed_value, 1);
}

TEST_F(AssertionTest, SlowdownMinFailsWhatIsFasterThanItMayBe) {
  const Verdict verdict = JudgeKind("slowdown", {{"job", "heavy"}, {"min", 1.6}, {"max", 2.2}});
  EXPECT_OUTCOME(verdict, kPass);
  UseNofair();
  EXPECT_OUTCOME(JudgeKind("slowdown", {{"job", "heavy"}, {"min", 1.6}, {"max", 2.2}}), kFail);
}

// --- share ---

TEST_F(AssertionTest, ShareOfTagsTellsTheKernelsApart) {
  const Params params = {{"queues", Names{"pair:0"}}, {"min", 0.45}, {"max", 0.55}};
  Verdict verdict = JudgeKind("share", params);
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_EQ(verdict.observed, "0.50");
  EXPECT_EQ(verdict.bound, "0.45 .. 0.55");
  EXPECT_EQ(verdict.what, "pair:0 (heavy), part of 64 usable tags");
  EXPECT_WHY(verdict, "\"active\"");
  UseNofair();
  verdict = JudgeKind("share", params);
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_NEAR(*verdict.observed_value, 62.8 / 64, 1e-9);
}

TEST_F(AssertionTest, ShareJudgesEachQueueByItself) {
  const std::vector<Verdict> verdicts =
      JudgeAll(MakeAssert("share", {"contention"}, {{"max", 0.55}}));
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(verdicts[0].what.substr(0, 6), "pair:0");
  EXPECT_EQ(verdicts[1].what.substr(0, 6), "pair:1");
}

TEST_F(AssertionTest, ShareOfAQueueThatWantsOneTagAndHasItIsFair) {
  // Alone it holds 0.92 of its one tag (the rest is turnaround), and beside the other 0.91.
  const Params params = {{"queues", Names{"pair:1"}}, {"tolerance", 0.05}};
  Verdict verdict = JudgeKind("share", params);
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_NEAR(*verdict.observed_value, 0.91 / 0.92, 1e-9);
  EXPECT_WHY(verdict, "Jain");
  UseNofair();
  verdict = JudgeKind("share", params);
  EXPECT_OUTCOME(verdict, kFail);
}

TEST_F(AssertionTest, ShareWithWeightsFollowsThem) {
  Contended().queues[1].demand = 256;
  Contended().tag_sets.front().demand = 512;
  scenario_.phases.resize(1);  // without solo phases, what a queue wants is its demand
  scenario_.phases[0] = testing::LopsidedScenario().phases[2];
  Contended().queues[0].occupancy->mean = 48;
  Contended().queues[1].occupancy->mean = 16;
  const Names queues = {"pair:0", "pair:1"};
  for (const Verdict& verdict : JudgeAll(
           MakeAssert("share", {"contention"},
                      {{"queues", queues}, {"tolerance", 0.02}, {"weights", Numbers{3, 1}}}))) {
    EXPECT_OUTCOME(verdict, kPass);
  }
  for (const Verdict& verdict :
       JudgeAll(MakeAssert("share", {"contention"}, {{"queues", queues}, {"tolerance", 0.02}}))) {
    EXPECT_OUTCOME(verdict, kFail);
  }
}

TEST_F(AssertionTest, ShareOfIopsIsAnotherQuestionThanShareOfTags) {
  // 32 tags each at 20 ms and 200 ms: equal by tags, ten to one by I/Os.
  Scenario equal = scenario_;
  for (JobSpec& job : equal.jobs) job.iodepth = 64;
  equal.phases = {scenario_.phases[2]};
  scenario_ = equal;
  records_ = {testing::MakeRecord(scenario_)};
  records_[0].phases = {testing::MakePhase(
      scenario_, "contention",
      {{"heavy", "pair:0", 160, 400'000'000, 400'000'000, 0.02, 210'000'000, 32},
       {"light", "pair:1", 1600, 39'900'000, 40'000'000, 0.02, 22'000'000, 32}})};
  for (const Verdict& verdict :
       JudgeAll(MakeAssert("share", {"contention"}, {{"of", "tags"}, {"tolerance", 0.05}}))) {
    EXPECT_OUTCOME(verdict, kPass);
  }
  const std::vector<Verdict> by_iops =
      JudgeAll(MakeAssert("share", {"contention"}, {{"of", "iops"}, {"tolerance", 0.1}}));
  ASSERT_EQ(by_iops.size(), 2U);
  for (const Verdict& verdict : by_iops) EXPECT_OUTCOME(verdict, kFail);
  EXPECT_OUTCOME(JudgeKind("ratio", {{"metric", "iops"},
                                     {"between", Names{"light", "heavy"}},
                                     {"expected", 10.0},
                                     {"tolerance", 0.1}}),
                 kPass);
}

TEST_F(AssertionTest, ShareWithoutOccupancyIsInconclusive) {
  Contended().queues[0].occupancy->mean.reset();
  const Verdict verdict = JudgeKind("share", {{"queues", Names{"pair:0"}}, {"max", 0.55}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_WHY(verdict, "pair:0 held were not sampled");
  EXPECT_EQ(verdict.observed, "-");
}

TEST_F(AssertionTest, ShareOfASoloPhaseIsNotFairByDefinition) {
  // Alone, the heavy queue holds 40 of 64 tags: it wants 256, whatever it held alone.
  PhaseIn(records_[0], "solo_heavy").queues[0].occupancy->mean = 40;
  const Verdict verdict =
      JudgeOne(MakeAssert("share", {"solo_heavy"}, {{"tolerance", 0.05}}, Contention::kAny));
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_NEAR(*verdict.observed_value, 40.0 / 64, 1e-9);
}

TEST_F(AssertionTest, QueuesWithTagsOfTheirOwnAreComparedWithTheirOwnSet) {
  scenario_.phases = {scenario_.phases[2]};
  records_[0].fixtures[0].shared = false;
  Contended().queues[0].occupancy->mean = 63;
  Contended().queues[1].demand = 64;
  Contended().queues[1].occupancy->mean = 62;
  for (const Verdict& verdict :
       JudgeAll(MakeAssert("share", {"contention"}, {{"tolerance", 0.05}}, Contention::kAbsent))) {
    EXPECT_OUTCOME(verdict, kPass);
  }
  // Wanted are 64 of each set.
  const Verdict verdict = JudgeOne(
      MakeAssert("work_conservation", {"contention"}, {{"min", 0.9}}, Contention::kAbsent));
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_NEAR(*verdict.observed_value, 125.0 / 128, 1e-9);
}

// --- ratio ---

TEST_F(AssertionTest, AQueueIsToldByItsReadsAndWritesAndByTrimsOnlyIfThereIsNothingElse) {
  PhaseRecord& phase = testing::PhaseIn(records_[0], "contention");
  const MetricInfo& iops = MetricByName("iops");
  const double before = *ReadMetric(iops, *FindSubject(phase, "pair:0")).value;
  JobRecord trimming = phase.jobs.front();
  trimming.job = "trimmer";
  trimming.queue = "pair:0";
  trimming.directions.front().direction = "trim";
  phase.jobs.push_back(trimming);
  EXPECT_EQ(*ReadMetric(iops, *FindSubject(phase, "pair:0")).value, before);
  EXPECT_GT(*ReadMetric(iops, *FindSubject(phase, "trimmer")).value, 0);
  std::erase_if(phase.jobs, [](const JobRecord& job) { return job.job != "trimmer"; });
  EXPECT_GT(*ReadMetric(iops, *FindSubject(phase, "pair:0")).value, 0);
}

TEST_F(AssertionTest, RatioBetweenJobsOrQueues) {
  for (const Names& between : {Names{"light", "heavy"}, Names{"pair:1", "pair:0"}}) {
    UseStock();
    const Params params = {{"metric", "iops"}, {"between", between}, {"min", 2.0}};
    const Verdict verdict = JudgeKind("ratio", params);
    EXPECT_OUTCOME(verdict, kPass);
    EXPECT_NEAR(*verdict.observed_value, 907.0 / 311, 1e-9);
    UseNofair();
    EXPECT_OUTCOME(JudgeKind("ratio", params), kFail);
  }
}

TEST_F(AssertionTest, RatioToAStarvedJobFailsOnEitherSide) {
  Starve("heavy");
  EXPECT_OUTCOME(
      JudgeKind("ratio", {{"metric", "iops"}, {"between", Names{"light", "heavy"}}, {"min", 2.0}}),
      kFail);
  EXPECT_OUTCOME(
      JudgeKind("ratio",
                {{"metric", "lat_mean"}, {"between", Names{"light", "heavy"}}, {"max", 2.0}}),
      kFail);
}

TEST_F(AssertionTest, RatioToleranceBelowCountingNoiseIsInconclusive) {
  const Params tight = {{"metric", "iops"},
                        {"between", Names{"light", "heavy"}},
                        {"expected", 907.0 / 311},
                        {"tolerance", 0.01}};
  const Verdict verdict = JudgeKind("ratio", tight);
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_WHY(verdict, "times the I/Os");
  // Far outside is a failure, however tight the tolerance.
  UseNofair();
  EXPECT_OUTCOME(JudgeKind("ratio", tight), kFail);
}

// --- gap ---

TEST_F(AssertionTest, GapOfAJobAndOfAQueue) {
  for (const Params& who : {Params{{"job", "light"}}, Params{{"queue", "pair:1"}}}) {
    Params params = who;
    params.emplace_back("max", int64_t{50'000'000});
    UseStock();
    EXPECT_OUTCOME(JudgeKind("gap", params), kPass);
    UseNofair();
    const Verdict verdict = JudgeKind("gap", params);
    EXPECT_OUTCOME(verdict, kFail);
    EXPECT_EQ(verdict.bound, "<= " + HumanDuration(50e6));
  }
}

TEST_F(AssertionTest, GapStillGoingOnAtTheEndCounts) {
  Starve("light");
  const Verdict verdict = JudgeKind("gap", {{"job", "light"}, {"max", int64_t{50'000'000}}});
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_EQ(*verdict.observed_value, 1e10);
  EXPECT_WHY(verdict, "still going on");
}

TEST_F(AssertionTest, GapIsThatOfTheCloneThatWaitedLongest) {
  scenario_.jobs[1].numjobs = 3;
  UseStock();
  Contended().jobs[2].gap_max_ns = 90'000'000;
  const Verdict verdict = JudgeKind("gap", {{"job", "light"}, {"max", int64_t{50'000'000}}});
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_WHY(verdict, "light[1]");
}

TEST_F(AssertionTest, GapWithoutAWindowIsInconclusive) {
  Contended().window_close_ns = Contended().window_open_ns;
  EXPECT_OUTCOME(JudgeKind("gap", {{"job", "light"}, {"max", int64_t{50'000'000}}}), kInconclusive);
}

// --- jain ---

TEST_F(AssertionTest, JainAmongJobs) {
  const Names among = {"heavy", "light"};
  const Verdict verdict = JudgeKind("jain", {{"among", among}, {"min", 0.7}});
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_NEAR(*verdict.observed_value, 1218.0 * 1218 / (2 * (311.0 * 311 + 907.0 * 907)), 1e-9);
  EXPECT_OUTCOME(JudgeKind("jain", {{"among", among}, {"min", 0.95}}), kFail);
  EXPECT_OUTCOME(
      JudgeKind("jain", {{"among", among}, {"weights", Numbers{311, 907}}, {"min", 0.99}}), kPass);
}

TEST_F(AssertionTest, JainAmongTheClonesOfAJob) {
  scenario_.jobs[0].numjobs = 4;
  scenario_.jobs[0].iodepth = 64;
  UseStock();
  const Params params = {{"job", "heavy"}, {"min", 0.95}};
  EXPECT_OUTCOME(JudgeKind("jain", params), kPass);
  DirectionRecord& starved = Contended().jobs[1].directions.front();
  starved.ios /= 50;
  const Verdict verdict = JudgeKind("jain", params);
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_WHY(verdict, "heavy[1]");
}

TEST_F(AssertionTest, JainOfOneAloneIsInconclusive) {
  EXPECT_OUTCOME(JudgeKind("jain", {{"job", "heavy"}, {"min", 0.95}}), kInconclusive);
}

// --- bound ---

TEST_F(AssertionTest, BoundOfEachUnit) {
  using Unit = MetricValue::Unit;
  const auto bound = [&](std::string metric, std::string_view key, double value, Unit unit) {
    return JudgeKind(
        "bound",
        {{"job", "light"}, {"metric", std::move(metric)}, {key, MetricValue{value, unit}}});
  };
  EXPECT_OUTCOME(bound("iops", "min", 850, Unit::kNone), kPass);
  EXPECT_OUTCOME(bound("lat_p99", "max", 5e6, Unit::kNanoseconds), kPass);
  EXPECT_OUTCOME(bound("bw", "min", 450e3, Unit::kBytes), kPass);
  UseNofair();
  EXPECT_OUTCOME(bound("iops", "min", 850, Unit::kNone), kFail);
  EXPECT_OUTCOME(bound("lat_p99", "max", 5e6, Unit::kNanoseconds), kFail);
  EXPECT_OUTCOME(bound("bw", "min", 450e3, Unit::kBytes), kFail);
}

TEST_F(AssertionTest, BoundOfAnAbsentPercentileNamesTheRuntimeThatWouldDo) {
  UseNofair();
  const Verdict verdict =
      JudgeKind("bound", {{"job", "light"},
                          {"metric", "lat_p99.9"},
                          {"max", MetricValue{5e6, MetricValue::Unit::kNanoseconds}}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  // 2150 I/Os in 10 s, and 10000 are needed.
  EXPECT_WHY(verdict, "a runtime of 47s would do");
}

TEST_F(AssertionTest, B01BoundOfASaturatedPercentileIsInconclusive) {
  JobRecord& light = JobIn(Contended(), "light");
  light.directions.front().lat =
      testing::MakeLatency(9070, 1'000'000, int64_t{1} << Histogram::kMaxBits, 0.02);
  Contended().window_close_ns += int64_t{1} << 48;  // so that Little's law holds
  const Verdict verdict =
      JudgeKind("bound", {{"job", "light"},
                          {"metric", "lat_p99"},
                          {"max", MetricValue{1e18, MetricValue::Unit::kNanoseconds}}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_WHY(verdict, "beyond the histogram");
  EXPECT_WHY(verdict, "lat_p99 of light is >= 1100 s");
}

TEST_F(AssertionTest, BoundOnTheShareInTheWorstOfManyCells) {
  PhaseRecord& phase = Contended();
  const auto share = [&] {
    return JudgeKind("bound", {{"job", "light"},
                               {"metric", "share_p5"},
                               {"min", MetricValue{0.2, MetricValue::Unit::kNone}}});
  };
  // Alone it would be one I/O of four; in `low` cells of the window it is one of a hundred. What
  // lies before the window, or across one of its ends, does not count.
  const auto fill = [&](size_t low) {
    for (JobRecord& job : phase.jobs) {
      const bool light = job.job == "light";
      job.series.assign(221, SeriesCell{.ios = light ? 1u : 3u});
      for (size_t i = 0; i < 20; i++) job.series[i].ios = light ? 0 : 100;
      for (size_t i = 20; i < 20 + low; i++) job.series[i].ios = light ? 1 : 99;
    }
  };
  phase.series_cell_ns = 50'000'000;
  fill(9);
  EXPECT_OUTCOME(share(), kPass);
  EXPECT_EQ(share().observed_value, 0.25);
  fill(10);
  EXPECT_OUTCOME(share(), kFail);
  EXPECT_EQ(share().observed_value, 0.01);
  phase.series_cell_ns = 100'000'000;
  EXPECT_OUTCOME(share(), kInconclusive);
  EXPECT_WHY(share(),
             "needs 200 cells of the series with I/Os in them, and the window had 100: a "
             "runtime of 20s would do");
}

TEST_F(AssertionTest, BoundOnErrorsJudgesThem) {
  JobIn(Contended(), "light").errors = {{"read EIO", 7}};
  const auto errors_at_most = [&](double max) {
    return JudgeKind("bound", {{"job", "light"},
                               {"metric", "errors"},
                               {"max", MetricValue{max, MetricValue::Unit::kNone}}});
  };
  EXPECT_OUTCOME(errors_at_most(10), kPass);
  EXPECT_OUTCOME(errors_at_most(0), kFail);
}

// --- work_conservation ---

TEST_F(AssertionTest, WorkConservationOfTags) {
  const auto judge = [&] {
    return JudgeOne(
        MakeAssert("work_conservation", {"solo_heavy"}, {{"min", 0.9}}, Contention::kAny));
  };
  EXPECT_OUTCOME(judge(), kPass);
  PhaseIn(records_[0], "solo_heavy").queues[0].occupancy->mean = 32;
  const Verdict verdict = judge();
  EXPECT_OUTCOME(verdict, kFail);
  EXPECT_EQ(verdict.observed, "0.50");
  PhaseIn(records_[0], "solo_heavy").queues[0].occupancy.reset();
  EXPECT_OUTCOME(judge(), kInconclusive);
}

TEST_F(AssertionTest, WorkConservationOfTagsCountsWhatIsWantedOnly) {
  // One tag is wanted, and 0.92 of it is held.
  EXPECT_OUTCOME(
      JudgeOne(MakeAssert("work_conservation", {"solo_light"}, {{"min", 0.9}}, Contention::kAny)),
      kPass);
}

TEST_F(AssertionTest, WorkConservationOfIopsComparesWithTheBestAlone) {
  const Params params = {{"of", "iops"}, {"min", 1.2}};
  const Verdict verdict = JudgeKind("work_conservation", params);
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_NEAR(*verdict.observed_value, 1218.0 / 920, 1e-9);
  UseNofair();
  EXPECT_OUTCOME(JudgeKind("work_conservation", params), kFail);
  records_[0].phases.erase(records_[0].phases.begin());
  EXPECT_OUTCOME(JudgeKind("work_conservation", params), kInconclusive);
}

// --- too little data ---

TEST_F(AssertionTest, AWindowNoLongerThanTheBoundShowsNoGap) {
  const int64_t window_ns = Contended().window_ns();
  const Verdict verdict = JudgeKind("gap", {{"job", "light"}, {"max", window_ns}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_WHY(verdict, "cannot show");
}

TEST_F(AssertionTest, FewSamplesOfTheTagsAreNoContention) {
  for (TagSetPhaseRecord& set : Contended().tag_sets) set.samples = set.samples_contended = 9;
  EXPECT_OUTCOME(JudgeKind("slowdown", {{"job", "light"}, {"max", 2.0}}), kInconclusive);
  for (TagSetPhaseRecord& set : Contended().tag_sets) set.samples = set.samples_contended = 10;
  EXPECT_OUTCOME(JudgeKind("slowdown", {{"job", "light"}, {"max", 2.0}}), kPass);
}

TEST_F(AssertionTest, CountsDecideNothingWithinTheirNoise) {
  // 3110 and 9070 I/Os: a noise of 3.6 and 2.1 %.
  const Params between = {{"metric", "iops"}, {"between", Names{"light", "heavy"}}};
  const double ratio = 907.0 / 311;
  const auto with = [&](const char* key, double bound) {
    Params params = between;
    params.emplace_back(key, bound);
    return JudgeKind("ratio", params);
  };
  EXPECT_OUTCOME(with("max", ratio * 1.01), kInconclusive);
  EXPECT_WHY(with("max", ratio * 1.01), "times the I/Os");
  EXPECT_OUTCOME(with("max", ratio * 1.1), kPass);
  EXPECT_OUTCOME(with("min", ratio * 1.1), kFail);
}

// --- several records ---

TEST_F(AssertionTest, RepeatsPassOnlyWhenTheIntervalClearsTheBound) {
  records_ = {testing::StockRecord(scenario_), testing::NofairRecord(scenario_)};
  Verdict verdict = JudgeKind("slowdown", {{"job", "light"}, {"max", 2.7}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_NEAR(*verdict.observed_value, std::sqrt(920.0 / 907 * 920.0 / 215), 1e-9);
  EXPECT_WHY(verdict, "over 2 repeats (1.01, 4.28) holds the bound");
  EXPECT_WHY(verdict, "repeats would settle it");
  records_ = {testing::StockRecord(scenario_), testing::StockRecord(scenario_)};
  verdict = JudgeKind("slowdown", {{"job", "light"}, {"max", 2.7}});
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_EQ(verdict.n, 2U);
  EXPECT_LT(*verdict.low, *verdict.observed_value);  // two that agree still resolve one count only
  EXPECT_GT(*verdict.high, *verdict.observed_value);
  EXPECT_OUTCOME(JudgeKind("slowdown", {{"job", "light"}, {"max", 1.005}}), kFail);
}

TEST_F(AssertionTest, IntervalsOfSharesStayWithinWhatAShareCanBe) {
  records_ = {testing::StockRecord(scenario_), testing::NofairRecord(scenario_)};
  const Verdict verdict =
      JudgeKind("share", {{"of", "tags"}, {"queues", Names{"pair:0"}}, {"min", 0.9}});
  EXPECT_OUTCOME(verdict, kInconclusive);
  EXPECT_EQ(*verdict.low, 0);  // Student's interval of 0.50 and 0.98 goes far beyond both
  EXPECT_EQ(*verdict.high, 1);
}

TEST_F(AssertionTest, ZerosAmongRepeatsAreNoReasonToSayNothing) {
  records_.assign(6, testing::StockRecord(scenario_));
  for (size_t i = 0; i < records_.size(); i++) {
    if (i % 2 == 0) JobIn(PhaseIn(records_[i], "contention"), "light").errors = {{"read EIO", 2}};
  }
  const Verdict verdict =
      JudgeKind("bound", {{"job", "light"}, {"metric", "errors"}, {"max", MetricValue{10}}});
  EXPECT_OUTCOME(verdict, kPass);
  EXPECT_EQ(*verdict.observed_value, 1);
  EXPECT_EQ(verdict.n, 6U);
}

TEST_F(AssertionTest, GapsOfRepeatsNeedSixForTheirMedian) {
  records_.assign(5, testing::StockRecord(scenario_));
  const Verdict five = JudgeKind("gap", {{"job", "light"}, {"max", int64_t{1'000'000'000}}});
  EXPECT_OUTCOME(five, kInconclusive);
  EXPECT_WHY(five, "6 would");
  records_.assign(6, testing::StockRecord(scenario_));
  EXPECT_OUTCOME(JudgeKind("gap", {{"job", "light"}, {"max", int64_t{1'000'000'000}}}), kPass);
}

TEST_F(AssertionTest, OneStarvedRecordOfSeveralFails) {
  records_ = {testing::StockRecord(scenario_), testing::StockRecord(scenario_)};
  Starve("light");
  EXPECT_OUTCOME(JudgeKind("slowdown", {{"job", "light"}, {"max", 100.0}}), kFail);
}

}  // namespace
}  // namespace blkfair
