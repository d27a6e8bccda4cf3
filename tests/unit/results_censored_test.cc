// I/Os that a window's close cut off, in records made by hand: what becomes of latencies, and of
// assertions about them.
#include <gtest/gtest.h>

#include <string>

#include "results/fairness/judge.h"
#include "results/fairness/metric.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using testing::JobIn;
using testing::MakeAssert;
using testing::PhaseIn;

constexpr int64_t kMs = 1'000'000;

class CensoredTest : public ::testing::Test {
 protected:
  // light on stock: 9070 I/Os of 1.1 ms in 10 s.
  JobRecord& Light() { return JobIn(PhaseIn(record_, "contention"), "light"); }
  void AtClose(Ages ages) { Light().unfinished_at_close = {ages, ages, {}}; }
  void AtOpen(Ages ages) { Light().unfinished_at_open = {ages, ages, {}}; }

  Reading Read(const std::string& metric) {
    const PhaseRecord& phase = PhaseIn(record_, "contention");
    return ReadMetric(MetricByName(metric), *FindSubject(phase, "light"));
  }
  Verdict Bound(const std::string& metric, const std::string& key, double ns) {
    scenario_.asserts = {MakeAssert("bound", {"contention"},
                                    {{"job", std::string("light")},
                                     {"metric", metric},
                                     {key, MetricValue{ns, MetricValue::Unit::kNanoseconds}}})};
    const std::vector<Record> records = {record_};
    return Judge(scenario_, records).verdicts.at(0);
  }

  Scenario scenario_ = testing::LopsidedScenario();
  Record record_ = testing::StockRecord(scenario_);
};

TEST_F(CensoredTest, AFewThatHangMakeTheLongestLongerAndNothingElse) {
  const double p99 = *Read("lat_p99").value;
  const double mean = *Read("lat_mean").value;
  AtClose({{5000 * kMs, 1}});
  EXPECT_FALSE(Read("lat_max").value);
  EXPECT_EQ(*Read("lat_max").at_least, 5e9);
  EXPECT_FALSE(Read("clat_max").value);
  EXPECT_TRUE(Read("slat_max").value);
  EXPECT_EQ(*Read("lat_p99").value, p99);
  EXPECT_EQ(*Read("lat_p50").value, *Read("lat_min").value);
  EXPECT_GE(*Read("lat_mean").at_least, mean);
  EXPECT_TRUE(Read("lat_min").value);
}

TEST_F(CensoredTest, ManyThatHangMakeThePercentilesBehindThemLonger) {
  AtClose({{5000 * kMs, 200}});  // of 9270: p98 and above
  EXPECT_EQ(*Read("lat_p99").at_least, 5e9);
  EXPECT_NE(Read("lat_p99").absent.find("200 I/Os that had begun"), std::string::npos)
      << Read("lat_p99").absent;
  EXPECT_TRUE(Read("lat_p50").value);
  EXPECT_FALSE(Read("lat_stddev").value);
  EXPECT_FALSE(Read("lat_stddev").at_least);
}

// A deep queue is in flight at every moment; in a steady state that says nothing.
TEST_F(CensoredTest, AsManyAtTheOpenAsAtTheCloseChangeNothing) {
  const double p99 = *Read("lat_p99").value;
  const double mean = *Read("lat_mean").value;
  AtOpen({{1 * kMs, 2000}, {2 * kMs, 1000}});
  AtClose({{1 * kMs, 2000}, {2 * kMs, 1000}});
  EXPECT_EQ(*Read("lat_p99").value, p99);
  EXPECT_EQ(*Read("lat_mean").value, mean);
  AtOpen({});  // 1000 more of 10070: p90 and above
  EXPECT_EQ(*Read("lat_p99").at_least, 2e6);
  EXPECT_TRUE(Read("lat_p50").value);
}

TEST_F(CensoredTest, AnAgeThatIsShortChangesNothing) {
  const double p50 = *Read("lat_p50").value;
  AtClose({{100'000, 5000}});
  EXPECT_EQ(*Read("lat_p50").value, p50);
}

TEST_F(CensoredTest, WhatIsAtLeastTooMuchFailsAndNothingPasses) {
  AtClose({{50 * kMs, 1}});
  EXPECT_EQ(Bound("lat_max", "max", 20e6).outcome, Outcome::kFail);
  const Verdict unknown = Bound("lat_max", "max", 100e6);
  EXPECT_EQ(unknown.outcome, Outcome::kInconclusive);
  EXPECT_EQ(unknown.observed, ">= 50 ms");
  EXPECT_EQ(Bound("lat_max", "min", 20e6).outcome, Outcome::kPass);
  EXPECT_EQ(Bound("lat_max", "min", 100e6).outcome, Outcome::kInconclusive);
}

TEST_F(CensoredTest, ASlowdownOfWhatIsAtLeastSoLongIsAtLeastSoLarge) {
  AtClose({{5000 * kMs, 200}});
  scenario_.asserts = {MakeAssert(
      "slowdown", {"contention"},
      {{"job", std::string("light")}, {"metric", std::string("lat_p99")}, {"max", 2.0}})};
  const std::vector<Record> records = {record_};
  const Verdict verdict = Judge(scenario_, records).verdicts.at(0);
  EXPECT_EQ(verdict.outcome, Outcome::kFail) << verdict.why;
  EXPECT_TRUE(verdict.observed.starts_with(">= ")) << verdict.observed;
}

TEST_F(CensoredTest, WhatTakesLongerThanTheWindowIsAtLeastThat) {
  DirectionRecord& read = Light().directions.front();
  read.lat = testing::MakeLatency(read.ios, 11'000 * kMs, 11'000 * kMs, 0);
  const Reading reading = Read("lat_p50");
  EXPECT_FALSE(reading.value);
  EXPECT_NEAR(*reading.at_least, 11e9, 11e9 / 256);
  EXPECT_NE(reading.absent.find("a runtime of 110 s would do"), std::string::npos)
      << reading.absent;
}

// Half of what was due never began: the half that did had waited less long than it.
TEST_F(CensoredTest, ABacklogMakesResponsesLonger) {
  DirectionRecord& read = Light().directions.front();
  LatencyStats response;
  for (int64_t i = 1; i <= 5000; i++) response.Add(i * kMs);
  read.response = response;
  Ages backlog;
  for (int64_t i = 1; i <= 5000; i++) backlog.emplace_back(i * kMs, 1);
  Light().unfinished_at_close.response = backlog;
  EXPECT_NEAR(*Read("response_p50").at_least, 3.33e9, 0.02e9);
  EXPECT_NEAR(*Read("response_mean").at_least, 2.5e9, 0.01e9);
  EXPECT_TRUE(Read("response_p99").at_least || Read("response_p99").value);
  EXPECT_TRUE(Read("lat_p99").value);
}

}  // namespace
}  // namespace blkfair
