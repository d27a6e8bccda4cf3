// Comparisons of hand-made records: what is worse, better, equivalent, or cannot be told; and what
// must not be compared.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "results/compare/comparison.h"
#include "results/report/comparison_report.h"
#include "results/report/layout.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

CompareSpec Primary(const char* job, const char* metric, double margin = 0.05) {
  CompareSpec spec;
  spec.params.Set("phase", std::string("contention"));
  spec.params.Set("job", std::string(job));
  spec.params.Set("metric", std::string(metric));
  spec.params.Set("margin", margin);
  return spec;
}

Scenario ComparedScenario() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.compares = {Primary("light", "iops"), Primary("heavy", "iops")};
  return scenario;
}

Record RecordWith(const Scenario& scenario, uint32_t repeat, double light_iops,
                  double heavy_iops = 311) {
  Record record = testing::MakeRecord(scenario);
  record.repeat = repeat;
  record.phases.push_back(testing::MakePhase(
      scenario, "contention",
      {{"heavy", "pair:0", heavy_iops, 800'000'000, 800'000'000, 0.02, 1'000'000, 32},
       {"light", "pair:1", light_iops, 1'100'000, 1'500'000, 0.02, 2'000'000, 1}}));
  return record;
}

// n records whose light job has `mean` IOPS, give or take `spread` of it.
std::vector<Record> Side(const Scenario& scenario, size_t n, double mean, double spread,
                         uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, spread);
  std::vector<Record> records;
  for (uint32_t i = 0; i < n; i++) {
    records.push_back(RecordWith(scenario, i + 1, mean * std::exp(normal(random))));
  }
  return records;
}

const ComparedMetric& Row(const Comparison& comparison, const char* job, const char* metric) {
  for (const ComparedMetric& row : comparison.metrics) {
    if (row.job == job && row.metric == metric) return row;
  }
  ADD_FAILURE() << job << " " << metric;
  return comparison.metrics.front();
}

TEST(Comparison, TellsWorseFromEquivalent) {
  const Scenario scenario = ComparedScenario();
  const Comparison comparison =
      Compare(scenario, Side(scenario, 6, 907, 0.005, 1), Side(scenario, 6, 200, 0.1, 2), {});
  EXPECT_EQ(Row(comparison, "light", "iops").change, Change::kWorse);
  EXPECT_NEAR(Row(comparison, "light", "iops").factor->value, 200.0 / 907, 0.03);
  EXPECT_EQ(Row(comparison, "heavy", "iops").change, Change::kEquivalent);
  EXPECT_EQ(Row(comparison, "light", "lat_p99").change, Change::kDescriptive);
  EXPECT_EQ(comparison.exit_code, 1);
}

TEST(Comparison, LowerIsBetterForLatency) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "lat_mean")};
  std::vector<Record> a;
  std::vector<Record> b;
  for (uint32_t i = 1; i <= 6; i++) {
    a.push_back(RecordWith(scenario, i, 900 + i));
    b.push_back(a.back());
    b.back().phases[0] = testing::MakePhase(
        scenario, "contention",
        {{"light", "pair:1", 900.0 + i, 2'200'000, 3'000'000, 0.02, 2'000'000, 1}});
  }
  EXPECT_EQ(Compare(scenario, a, b, {}).exit_code, 1);
  EXPECT_EQ(Compare(scenario, b, a, {}).exit_code, 0);
  EXPECT_EQ(Row(Compare(scenario, b, a, {}), "light", "lat_mean").change, Change::kBetter);
}

TEST(Comparison, SpreadMakesItInconclusiveAndSaysWhatWouldSettleIt) {
  const Scenario scenario = ComparedScenario();
  const Comparison comparison =
      Compare(scenario, Side(scenario, 6, 900, 0.2, 3), Side(scenario, 6, 850, 0.2, 4), {});
  const ComparedMetric& row = Row(comparison, "light", "iops");
  EXPECT_EQ(row.change, Change::kInconclusive);
  EXPECT_NE(row.why.find("repeats"), std::string::npos) << row.why;
  EXPECT_EQ(comparison.exit_code, 4);
}

TEST(Comparison, WithoutAPrimaryMetricNothingIsConcluded) {
  Scenario scenario = ComparedScenario();
  scenario.compares.clear();
  const Comparison comparison =
      Compare(scenario, Side(scenario, 6, 900, 0.01, 1), Side(scenario, 6, 100, 0.01, 2), {});
  EXPECT_EQ(comparison.exit_code, 4);
  EXPECT_NE(comparison.conclusion.find("[[compare]]"), std::string::npos);
}

// The ruler against itself: of many comparisons of one thing with itself few may find a change.
TEST(Comparison, FindsNoChangeWhereThereIsNone) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "iops")};
  constexpr int kTrials = 200;
  int changes = 0;
  for (uint64_t trial = 0; trial < kTrials; trial++) {
    const Comparison comparison = Compare(scenario, Side(scenario, 6, 900, 0.1, 2 * trial + 1000),
                                          Side(scenario, 6, 900, 0.1, 2 * trial + 1001), {});
    const Change change = Row(comparison, "light", "iops").change;
    changes += change == Change::kWorse || change == Change::kBetter;
  }
  EXPECT_LE(changes, 20);  // 5 % are 10; three standard deviations more are 19
  EXPECT_GE(changes, 1);   // and it is not blind
}

TEST(Comparison, RefusesWhatDiffersElsewhere) {
  const Scenario scenario = ComparedScenario();
  const std::vector<Record> a = Side(scenario, 6, 900, 0.01, 1);
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  for (Record& record : b) record.environment.clock = "tsc";
  Comparison comparison = Compare(scenario, a, b, {});
  EXPECT_EQ(comparison.exit_code, 2);
  EXPECT_NE(comparison.conclusion.find("the clock differs"), std::string::npos);
  CompareOptions force;
  force.force = true;
  comparison = Compare(scenario, a, b, force);
  EXPECT_EQ(comparison.exit_code, 0);
  ASSERT_EQ(comparison.differences.size(), 1U);
}

TEST(Comparison, RefusesOtherKeysThanTheDeclaredOne) {
  const Scenario scenario = ComparedScenario();
  std::vector<Record> a = Side(scenario, 6, 900, 0.01, 1);
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  const std::string head =
      "name = \"x\"\nseed = 1\n\n[[fixture]]\nname = \"pair\"\nkind = \"sim\"\n";
  for (Record& record : a) record.scenario_toml = head + "depth = 64\npolicy = \"fair\"\n";
  for (Record& record : b) record.scenario_toml = head + "depth = 32\npolicy = \"fcfs\"\n";
  CompareOptions options;
  options.declared = {"fixture.pair.policy"};
  const Comparison comparison = Compare(scenario, a, b, options);
  EXPECT_EQ(comparison.exit_code, 2);
  ASSERT_EQ(comparison.differences.size(), 1U);
  EXPECT_EQ(comparison.differences[0], "the scenarios differ in fixture.pair.depth: 64, 32");
}

// A lower rate shows a higher latency where an idle CPU has to wake up first.
TEST(Comparison, B08AnotherOfferedRateIsRefusedUnlessForced) {
  const Scenario scenario = ComparedScenario();
  std::vector<Record> a = Side(scenario, 6, 900, 0.01, 1);
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  const std::string head = "name = \"x\"\nseed = 1\n\n[[job]]\nname = \"light\"\n";
  for (Record& record : a) record.scenario_toml = head + "rate_iops = 300\n";
  for (Record& record : b) record.scenario_toml = head + "rate_iops = 6000\n";
  CompareOptions options;
  EXPECT_EQ(Compare(scenario, a, b, options).conclusion,
            "not comparable: the scenarios differ in job.light.rate_iops: 300, 6000");
  EXPECT_EQ(Compare(scenario, a, b, options).exit_code, 2);
  options.force = true;
  EXPECT_EQ(Compare(scenario, a, b, options).exit_code, 0);
}

TEST(Comparison, AnIncompleteRunIsAnError) {
  const Scenario scenario = ComparedScenario();
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  b[3].outcome = RunOutcome::kDied;
  EXPECT_EQ(Compare(scenario, Side(scenario, 6, 900, 0.01, 1), b, {}).exit_code, 3);
}

TEST(ComparisonReport, FitsAMail) {
  const Scenario scenario = ComparedScenario();
  const std::vector<Record> a = Side(scenario, 6, 907, 0.005, 1);
  const std::vector<Record> b = Side(scenario, 6, 200, 0.1, 2);
  const Comparison comparison = Compare(scenario, a, b, {});
  ComparisonReportInput input;
  input.scenario = &scenario;
  input.a = {"stock", a};
  input.b = {"nofair", b};
  input.comparison = &comparison;
  input.command = "blkfair ab --kernel " + std::string(60, 'k') + " --kernel nofair x.toml";
  const std::string report = MailReport(input);
  for (size_t at = 0; at < report.size();) {
    const size_t end = report.find('\n', at);
    const std::string line = report.substr(at, end - at);
    EXPECT_LE(line.size(), 72U) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line << "|";
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c < 127) << line;
    at = end + 1;
  }
  EXPECT_NE(report.find("light iops"), std::string::npos);
  EXPECT_NE(report.find("worse"), std::string::npos);
}

}  // namespace
}  // namespace blkfair
