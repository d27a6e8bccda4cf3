// Comparisons of hand-made records: what is worse, better, equivalent, or cannot be told; and what
// must not be compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "results/compare/balance.h"
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
  EXPECT_NEAR(Row(comparison, "light", "iops").effect->value, 200.0 / 907, 0.03);
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

// --- what is not measured by factors ---

std::vector<Record> WithGaps(const Scenario& scenario, const std::vector<int64_t>& gaps_ms) {
  std::vector<Record> records;
  for (const int64_t gap_ms : gaps_ms) {
    records.push_back(RecordWith(scenario, static_cast<uint32_t>(records.size() + 1), 900));
    for (JobRecord& job : records.back().phases[0].jobs) job.gap_max_ns = gap_ms * 1'000'000;
  }
  return records;
}

TEST(Comparison, GapsAreHeldByOrderStatistics) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "gap")};
  // One wild outlier, which would make Student's interval hold anything.
  const std::vector<Record> a = WithGaps(scenario, {10, 11, 10, 12, 10, 11});
  const std::vector<Record> b = WithGaps(scenario, {20, 24, 22, 21, 23, 9000});
  const ComparedMetric row = Row(Compare(scenario, a, b, {}), "light", "gap");
  EXPECT_EQ(row.scale, ChangeScale::kMedian);
  EXPECT_EQ(row.change, Change::kWorse);
  EXPECT_NEAR(row.effect->low, 1.75, 1e-9);
  EXPECT_NEAR(row.effect->high, 9000.0 / 11, 1e-9);
  EXPECT_NEAR(row.p, 2.0 / 64, 1e-9);
}

TEST(Comparison, GapsOfFewRepeatsAreInconclusive) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "gap")};
  const Comparison comparison = Compare(scenario, WithGaps(scenario, {10, 11, 10, 12, 10}),
                                        WithGaps(scenario, {20, 24, 22, 21, 23}), {});
  EXPECT_EQ(Row(comparison, "light", "gap").change, Change::kInconclusive);
  EXPECT_NE(Row(comparison, "light", "gap").why.find("6 would"), std::string::npos);
  EXPECT_EQ(comparison.exit_code, 4);
}

TEST(Comparison, GapsThatAgreeSaySoWhenHolmAsksForMorePairs) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "gap"), Primary("heavy", "gap")};
  const Comparison comparison = Compare(scenario, WithGaps(scenario, {10, 11, 10, 12, 10, 11}),
                                        WithGaps(scenario, {20, 24, 22, 21, 23, 25}), {});
  const ComparedMetric& row = Row(comparison, "light", "gap");
  EXPECT_EQ(row.change, Change::kInconclusive);  // 2/64 is above 0.05/2
  EXPECT_EQ(row.repeats_needed, std::optional<size_t>(7));
}

TEST(Comparison, ZerosAreComparedByDifference) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "errors")};
  std::vector<Record> a = Side(scenario, 6, 900, 0.01, 1);
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  ComparedMetric row = Row(Compare(scenario, a, b, {}), "light", "errors");
  EXPECT_EQ(row.scale, ChangeScale::kDifference);
  EXPECT_EQ(row.change, Change::kEquivalent);  // no error on either side
  for (size_t i = 0; i < b.size(); i++) {
    testing::JobIn(b[i].phases[0], "light").errors = {{"read EIO", 5 + i}};
  }
  row = Row(Compare(scenario, a, b, {}), "light", "errors");
  EXPECT_EQ(row.change, Change::kWorse);
  EXPECT_NEAR(row.effect->value, 7.5, 1e-9);
  EXPECT_GT(row.effect->low, 0);
  EXPECT_FALSE(row.Factor());
}

TEST(Comparison, SharesOfTagsAreComparedByDifference) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("heavy", "tags")};
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  for (size_t i = 0; i < b.size(); i++) {
    b[i].phases[0].queues[0].occupancy->mean = 62 + 0.1 * static_cast<double>(i);
  }
  const ComparedMetric row =
      Row(Compare(scenario, Side(scenario, 6, 900, 0.01, 1), b, {}), "heavy", "tags");
  EXPECT_EQ(row.scale, ChangeScale::kDifference);
  EXPECT_EQ(row.change, Change::kBetter);
  EXPECT_NEAR(row.effect->value, 30.25, 1e-9);
}

// What a report asks for is enough in most cases.
TEST(Comparison, AsManyRepeatsAsAskedForSettleIt) {
  Scenario scenario = ComparedScenario();
  scenario.compares = {Primary("light", "iops", 0.01)};
  int asked = 0;
  int settled = 0;
  for (uint64_t trial = 0; trial < 200; trial++) {
    const auto compare = [&](size_t n, uint64_t seed) {
      return Row(Compare(scenario, Side(scenario, n, 900, 0.02, 4 * trial + seed),
                         Side(scenario, n, 873, 0.02, 4 * trial + seed + 1), {}),
                 "light", "iops");
    };
    const ComparedMetric first = compare(6, 5000);
    if (first.change != Change::kInconclusive || !first.repeats_needed) continue;
    asked++;
    EXPECT_GT(*first.repeats_needed, 6U);
    settled += compare(std::min<size_t>(*first.repeats_needed, 200), 5002).change == Change::kWorse;
  }
  EXPECT_GE(asked, 50);
  EXPECT_GE(settled, asked * 7 / 10);
}

// --- the audit ---

std::vector<Record> Audited(const Scenario& scenario, const char* name, const char* value,
                            const char* warning = "") {
  std::vector<Record> records = Side(scenario, 6, 900, 0.01, 3);
  for (Record& record : records) record.environment.audit = {{name, value, warning}};
  return records;
}

TEST(Comparison, RefusesADebugKernelAgainstOneThatIsNone) {
  const Scenario scenario = ComparedScenario();
  CompareOptions kernels;
  kernels.kernels_differ = true;
  const Comparison comparison = Compare(scenario, Audited(scenario, "kasan", "off"),
                                        Audited(scenario, "kasan", "on", "it checks"), kernels);
  EXPECT_EQ(comparison.exit_code, 2);
  EXPECT_EQ(comparison.conclusion, "not comparable: the audits differ in kasan: off, on");
  EXPECT_EQ(comparison.warnings, std::vector<std::string>{"B: it checks"});
}

TEST(Comparison, WhatCameWithTheDeclaredChangeIsAWarning) {
  const Scenario scenario = ComparedScenario();
  const std::vector<Record> a = Audited(scenario, "pair.wbt_lat_usec", "2000");
  const std::vector<Record> b = Audited(scenario, "pair.wbt_lat_usec", "0");
  EXPECT_EQ(Compare(scenario, a, b, {}).exit_code, 2);
  CompareOptions options;
  options.declared = {"fixture.pair.scheduler"};  // bfq turns it off
  EXPECT_EQ(Compare(scenario, a, b, options).exit_code, 0);
  EXPECT_EQ(Compare(scenario, a, b, options).warnings.size(), 1U);
  options.declared = {"fixture.pair.wbt_lat_usec"};
  EXPECT_TRUE(Compare(scenario, a, b, options).warnings.empty());
  options.declared.clear();
  options.kernels_differ = true;
  EXPECT_EQ(Compare(scenario, a, b, options).warnings.size(), 1U);
}

TEST(Comparison, TheMachineOfAGuestMattersInRealTimeOnly) {
  const Scenario scenario = ComparedScenario();
  std::vector<Record> a = Side(scenario, 6, 900, 0.01, 1);
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  for (Record& record : a) record.host.audit = {{"governor", "powersave", ""}};
  for (Record& record : b) record.host.audit = {{"governor", "performance", ""}};
  EXPECT_EQ(Compare(scenario, a, b, {}).exit_code, 0);
  for (Record& record : a) record.environment.time = "real";
  for (Record& record : b) record.environment.time = "real";
  EXPECT_EQ(Compare(scenario, a, b, {}).exit_code, 2);
}

TEST(Comparison, RefusesASideWhoseKernelWasBuiltAnewInBetween) {
  const Scenario scenario = ComparedScenario();
  std::vector<Record> b = Side(scenario, 6, 900, 0.01, 2);
  b[4].environment.kernel_version = "#2 SMP Debian";
  CompareOptions kernels;
  kernels.kernels_differ = true;
  const Comparison comparison = Compare(scenario, Side(scenario, 6, 900, 0.01, 1), b, kernels);
  EXPECT_EQ(comparison.exit_code, 2);
  EXPECT_NE(comparison.conclusion.find("repeats 1 and 5 of B"), std::string::npos)
      << comparison.conclusion;
}

// --- price beside protection ---

TEST(Balance, WinnerAndLoserStandSideBySide) {
  const Scenario scenario = testing::LopsidedScenario();
  std::vector<Record> a;
  std::vector<Record> b;
  for (uint32_t i = 1; i <= 6; i++) {
    a.push_back(testing::StockRecord(scenario));
    b.push_back(testing::NofairRecord(scenario));
    for (std::vector<Record>* side : {&a, &b}) {
      side->back().repeat = i;
      for (JobRecord& job : side->back().phases.back().jobs) job.cpu_system_ns = 100'000'000;
    }
  }
  const Comparison comparison = Compare(scenario, a, b, {});
  const std::vector<Balance> balances = BalancesOf(scenario, comparison);
  ASSERT_EQ(balances.size(), 1U);  // the solo phases have none
  ASSERT_NE(balances[0].winner, nullptr);
  ASSERT_NE(balances[0].loser, nullptr);
  EXPECT_EQ(balances[0].winner->job, "heavy");
  EXPECT_EQ(balances[0].loser->job, "light");
  ASSERT_EQ(balances[0].price.size(), 2U);
  EXPECT_NEAR(*balances[0].price[0]->a, 311 + 907, 1);
  EXPECT_EQ(balances[0].price[1]->metric, "cpu");
  // 200 ms for all I/Os of the phase, those before and after the window too.
  EXPECT_NEAR(*balances[0].price[1]->a, 200e6 / (12180 * 1.1 + 257), 20);
  ASSERT_EQ(balances[0].protection.size(), 3U);  // of the light job alone
  EXPECT_EQ(balances[0].protection[0]->metric, kSlowdown);
  EXPECT_NEAR(*balances[0].protection[0]->a, 920.0 / 907, 0.01);
  EXPECT_NEAR(*balances[0].protection[0]->b, 920.0 / 215, 0.01);
  ComparisonReportInput input;
  input.scenario = &scenario;
  input.a = {"stock", a};
  input.b = {"nofair", b};
  input.comparison = &comparison;
  const std::string report = MailReport(input);
  EXPECT_NE(report.find(" heavy +98.4 [+98.3, +98.5]     | light -76.3 ["), std::string::npos)
      << report;
  EXPECT_NE(report.find("| light slowdown         1.01     4.28"), std::string::npos) << report;
}

TEST(Balance, NobodyWinsWhereNothingIsSure) {
  const Scenario scenario = ComparedScenario();
  const Comparison comparison =
      Compare(scenario, Side(scenario, 6, 900, 0.2, 3), Side(scenario, 6, 850, 0.2, 4), {});
  const std::vector<Balance> balances = BalancesOf(scenario, comparison);
  ASSERT_EQ(balances.size(), 1U);
  EXPECT_EQ(balances[0].winner, nullptr);
  EXPECT_EQ(balances[0].loser, nullptr);
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
