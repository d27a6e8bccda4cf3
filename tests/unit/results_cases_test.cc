// Known troubles of other tools, by the id under which they are listed: what is judged, compared
// and said where those tools pass, or stay silent.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "results/compare/comparison.h"
#include "results/fairness/judge.h"
#include "results/report/comparison_report.h"
#include "results/report/report.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using testing::JobIn;
using testing::MakeAssert;
using testing::PhaseIn;

// --- B49: a fairness test that cannot fail ---

// Two queues of one set of 64 tags, 64 jobs deep each; 1 ms and 100 ms for a request. An equal
// split of the tags predicts 32000 and 320 I/Os per second.
Scenario FastAndSlow() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.jobs[0].name = "slow";
  scenario.jobs[1].name = "fast";
  for (JobSpec& job : scenario.jobs) job.iodepth = 64;
  scenario.phases.back().jobs = {"slow", "fast"};
  using Names = std::vector<std::string>;
  scenario.asserts = {
      MakeAssert("bound", {"contention"},
                 {{"job", "slow"},
                  {"metric", "iops"},
                  {"min", MetricValue{250}},
                  {"max", MetricValue{400}}}),
      MakeAssert("bound", {"contention"},
                 {{"job", "fast"},
                  {"metric", "iops"},
                  {"min", MetricValue{25'000}},
                  {"max", MetricValue{40'000}}}),
      MakeAssert("share", {"contention"}, {{"of", "tags"}, {"tolerance", 0.1}}),
      MakeAssert(
          "ratio", {"contention"},
          {{"between", Names{"fast", "slow"}}, {"metric", "iops"}, {"min", 80.0}, {"max", 120.0}})};
  return scenario;
}

Record FastAndSlowRecord(const Scenario& scenario, double fast_iops, double slow_iops,
                         double slow_tags) {
  // 64 in flight each: by Little's law the latency follows from the rate.
  const auto latency_ns = [](double iops) { return static_cast<int64_t>(64e9 / iops); };
  const int64_t slow_ns = latency_ns(slow_iops);
  const int64_t fast_ns = latency_ns(fast_iops);
  Record record = testing::MakeRecord(scenario);
  record.phases = {testing::MakePhase(
      scenario, "contention",
      {{"slow", "pair:0", slow_iops, slow_ns, slow_ns, 0, 101'000'000, slow_tags},
       {"fast", "pair:1", fast_iops, fast_ns, fast_ns, 0, 2'000'000, 64 - slow_tags}})};
  return record;
}

int Failures(const Judgement& judgement) {
  int failures = 0;
  for (const Verdict& verdict : judgement.verdicts) failures += verdict.outcome == Outcome::kFail;
  return failures;
}

TEST(Cases, B49BothSidesAreHeldToABoundSoThatStarvingOneFails) {
  const Scenario scenario = FastAndSlow();
  const std::vector<Record> fair = {FastAndSlowRecord(scenario, 29'859, 318, 31.9)};
  EXPECT_EQ(Judge(scenario, fair).exit_code, 0);
  // 29859 against 1 is "fast >= slow" too.
  const std::vector<Record> starved = {FastAndSlowRecord(scenario, 29'859, 1, 0.1)};
  const Judgement judgement = Judge(scenario, starved);
  EXPECT_EQ(judgement.exit_code, 1);
  EXPECT_GE(Failures(judgement), 3);  // the slow rate, the shares, the ratio
  // The other way round: the fast queue is starved by the tags that the slow one pins.
  const std::vector<Record> pinned = {FastAndSlowRecord(scenario, 1'000, 630, 63)};
  EXPECT_EQ(Judge(scenario, pinned).exit_code, 1);
  EXPECT_GE(Failures(Judge(scenario, pinned)), 3);
}

// --- B50: one queue, called evidence of fairness ---

TEST(Cases, B50OneQueueOnTheTagSetExercisesNothing) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::StockRecord(scenario);
  PhaseRecord& phase = PhaseIn(record, "contention");
  phase.queues.erase(phase.queues.begin());  // the light job's is left
  scenario.asserts = {
      MakeAssert("gap", {"contention"}, {{"job", "light"}, {"max", int64_t{50'000'000}}})};
  const Judgement judgement = Judge(scenario, std::vector<Record>{record});
  EXPECT_EQ(judgement.exit_code, 4);
  EXPECT_EQ(judgement.verdicts[0].outcome, Outcome::kInconclusive);
  EXPECT_NE(judgement.verdicts[0].why.find("no contention: one queue of pair alone was used"),
            std::string::npos)
      << judgement.verdicts[0].why;
}

TEST(Cases, B50TwoQueuesThatDoNotShareOrDoNotRunOutExerciseNothing) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = {
      MakeAssert("gap", {"contention"}, {{"job", "light"}, {"max", int64_t{50'000'000}}})};
  Record apart = testing::StockRecord(scenario);
  apart.fixtures.front().shared = false;
  EXPECT_EQ(Judge(scenario, std::vector<Record>{apart}).exit_code, 4);
  Record roomy = testing::StockRecord(scenario);
  PhaseIn(roomy, "contention").tag_sets.front().samples_contended = 0;
  EXPECT_EQ(Judge(scenario, std::vector<Record>{roomy}).exit_code, 4);
  // And with evidence it is judged.
  EXPECT_EQ(Judge(scenario, std::vector<Record>{testing::StockRecord(scenario)}).exit_code, 0);
}

// --- B52: exit status and verdict disagree ---

TEST(Cases, B52ExitStatusSaysWhatTheVerdictsSay) {
  const auto combined = [](std::vector<int> codes) { return CombineExitCodes(codes); };
  constexpr int kPass = 0;
  constexpr int kFail = 1;
  constexpr int kError = 3;
  constexpr int kNothingVerified = 4;
  constexpr int kSkip = 77;
  EXPECT_EQ(combined({kFail}), kFail);
  EXPECT_EQ(combined({kSkip}), kSkip);
  EXPECT_EQ(combined({kSkip, kSkip}), kSkip);
  EXPECT_EQ(combined({kPass, kSkip}), kPass);
  EXPECT_EQ(combined({}), kNothingVerified);
  EXPECT_EQ(combined({kError, kPass}), kError);
}

Verdict OneVerdict(Outcome outcome, const char* why) {
  Verdict verdict;
  verdict.assertion = "light_rate";
  verdict.phase = "contention";
  verdict.what = "light iops, alone / shared";
  verdict.outcome = outcome;
  verdict.observed = "4.84";
  verdict.bound = "<= 1.25";
  verdict.why = why;
  return verdict;
}

// One scenario for each way to end, the last one never reached.
std::vector<SummaryRow> OneOfEach() {
  return {{"stock", "pass", 0, "", 2, {OneVerdict(Outcome::kPass, "900 of 927")}},
          {"nofair",
           "fail",
           1,
           "light_rate: is 4.84",
           3,
           {OneVerdict(Outcome::kFail, "191 # of \"927\" <I/Os>"),
            OneVerdict(Outcome::kInconclusive, "too few I/Os")}},
          {"old", "skip", 77, "needs Linux 6.12", 0, {}},
          {"noisy",
           "inconclusive",
           4,
           "too few I/Os",
           1,
           {OneVerdict(Outcome::kInconclusive, "too few I/Os")}},
          {"broken", "error", 3, "the guest died", 1, {}},
          {"late", "interrupted", 130, "not run", 0, {}}};
}

TEST(Cases, B52KtapTellsFailureErrorAndSkipApart) {
  EXPECT_EQ(KtapReport(OneOfEach()),
            R"(KTAP version 1
1..6
  KTAP version 1
  # Subtest: stock
  1..1
  ok 1 light_rate: light iops, alone / shared (contention)
ok 1 stock
  KTAP version 1
  # Subtest: nofair
  1..2
  not ok 1 light_rate: light iops, alone / shared (contention)
  # 4.84, not <= 1.25: 191 \# of "927" <I/Os>
  ok 2 light_rate: light iops, alone / shared (contention) # SKIP inconclusive: too few I/Os
# light_rate: is 4.84
not ok 2 nofair
ok 3 old # SKIP needs Linux 6.12
  KTAP version 1
  # Subtest: noisy
  1..1
  ok 1 light_rate: light iops, alone / shared (contention) # SKIP inconclusive: too few I/Os
ok 4 noisy # SKIP inconclusive: too few I/Os
not ok 5 broken # ERROR error: the guest died
not ok 6 late # ERROR interrupted: not run
)");
}

size_t Occurrences(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) count++;
  return count;
}

TEST(Cases, B52JunitTellsFailureErrorAndSkipApart) {
  const std::string xml = JunitReport(OneOfEach());
  EXPECT_EQ(Occurrences(xml, "<testsuite "), 6u);
  // A test for each run, and one for each verdict: as many as are announced.
  EXPECT_EQ(Occurrences(xml, "<testcase "), 10u);
  EXPECT_NE(xml.find("<testsuites name=\"blkfair\" tests=\"10\" failures=\"1\" errors=\"2\" "
                     "skipped=\"3\" time=\"7.000\">"),
            std::string::npos)
      << xml;
  EXPECT_EQ(Occurrences(xml, "<failure "), 1u);
  EXPECT_EQ(Occurrences(xml, "<error "), 2u);
  EXPECT_EQ(Occurrences(xml, "<skipped "), 3u);
  EXPECT_NE(xml.find("191 # of &quot;927&quot; &lt;I/Os>"), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"needs Linux 6.12\""), std::string::npos) << xml;
}

// --- B53: one run of each side, inside the noise ---

Scenario TwoJobs() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.phases = {scenario.phases.back()};
  return scenario;
}

Record OneRun(const Scenario& scenario, double heavy_iops, int64_t heavy_ns, double light_iops,
              int64_t light_ns) {
  Record record = testing::MakeRecord(scenario);
  record.phases = {
      testing::MakePhase(scenario, "contention",
                         {{"heavy", "pair:0", heavy_iops, heavy_ns, heavy_ns, 0, 30'000'000, 63},
                          {"light", "pair:1", light_iops, light_ns, light_ns, 0, 2'000'000, 1}})};
  return record;
}

const ComparedMetric& RowOf(const Comparison& comparison, const char* job, const char* metric) {
  for (const ComparedMetric& row : comparison.metrics) {
    if (row.job == job && row.metric == metric) return row;
  }
  ADD_FAILURE() << job << " " << metric;
  return comparison.metrics.front();
}

class SinglePair : public ::testing::Test {
 protected:
  Scenario scenario_ = TwoJobs();
  std::vector<Record> base_ = {OneRun(scenario_, 14'000, 16'990'000, 2'726, 327'500)};
  std::vector<Record> new_ = {OneRun(scenario_, 14'800, 16'323'000, 1'841, 503'800)};
};

TEST_F(SinglePair, B53OfOneRunEachTheConfidenceIsUnknown) {
  const Comparison comparison = Compare(scenario_, base_, new_, {});
  EXPECT_EQ(comparison.exit_code, 4);
  EXPECT_TRUE(comparison.conclusion.starts_with("change, confidence unknown: "))
      << comparison.conclusion;
  // Per job, in both directions.
  EXPECT_NE(comparison.conclusion.find("heavy iops (+5.7 %)"), std::string::npos)
      << comparison.conclusion;
  EXPECT_NE(comparison.conclusion.find("light iops (-32.5 %)"), std::string::npos)
      << comparison.conclusion;
  EXPECT_NEAR(*RowOf(comparison, "light", "lat_mean").Factor(), 503.8 / 327.5, 1e-6);
  for (const char* verdict : {"worse", "better", "equivalent"}) {
    EXPECT_EQ(comparison.conclusion.find(verdict), std::string::npos) << comparison.conclusion;
  }
}

TEST_F(SinglePair, B53APrimaryMetricDoesNotMakeItAVerdict) {
  CompareSpec spec;
  spec.params.Set("phase", std::string("contention"));
  spec.params.Set("job", std::string("light"));
  spec.params.Set("metric", std::string("iops"));
  spec.params.Set("margin", 0.05);
  scenario_.compares = {spec};
  const Comparison comparison = Compare(scenario_, base_, new_, {});
  EXPECT_EQ(RowOf(comparison, "light", "iops").change, Change::kUnknown);
  EXPECT_EQ(comparison.exit_code, 4);
  ComparisonReportInput input;
  input.scenario = &scenario_;
  input.a = {"base", base_};
  input.b = {"new", new_};
  input.comparison = &comparison;
  const std::string report = MailReport(input);
  EXPECT_NE(report.find("change, confidence unknown"), std::string::npos) << report;
  EXPECT_NE(report.find("-32.5 [unknown]"), std::string::npos) << report;
}

TEST_F(SinglePair, B53RefusesOtherTagsCpusOrScenarios) {
  std::vector<Record> other = new_;
  other[0].fixtures[0].nr_tags = 128;
  EXPECT_EQ(Compare(scenario_, base_, other, {}).exit_code, 2);
  other = new_;
  other[0].environment.cpus = 4;
  EXPECT_EQ(Compare(scenario_, base_, other, {}).exit_code, 2);
  other = new_;
  other[0].scenario_toml += "seed = 2\n";
  EXPECT_EQ(Compare(scenario_, base_, other, {}).exit_code, 2);
}

}  // namespace
}  // namespace blkfair
