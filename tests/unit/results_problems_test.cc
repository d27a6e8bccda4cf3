// The assertions' own tables, and what is wrong with an assertion in its scenario.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/units.h"
#include "results/fairness/assertion.h"
#include "results/fairness/metric.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using testing::MakeAssert;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;
using Params = std::vector<std::pair<std::string_view, ParamValue>>;

// --- tables ---

TEST(AssertionTable, ChoicesAndMetricsAreTheSame) {
  std::vector<std::string> choices;
  std::istringstream stream{std::string(kMetricChoices)};
  for (std::string choice; std::getline(stream, choice, '|');) choices.push_back(choice);
  std::vector<std::string> names;
  for (const MetricInfo& metric : AllMetrics()) names.emplace_back(metric.name);
  EXPECT_EQ(choices, names);
}

TEST(AssertionTable, EveryRowHasHelpAndParams) {
  EXPECT_EQ(AllAssertions().size(), 7U);
  for (const AssertionInfo* info : AllAssertions()) {
    EXPECT_EQ(FindAssertion(info->name), info);
    EXPECT_FALSE(info->help.empty()) << info->name;
    for (const ParamSpec& param : info->params) EXPECT_FALSE(param.help.empty()) << param.name;
  }
  EXPECT_EQ(FindAssertion("luck"), nullptr);
}

struct BadParams {
  std::string kind;
  Params params;
  std::string complaint;
};

TEST(AssertionTable, ImpossibleCombinationsAreNamed) {
  const MetricValue number{5, MetricValue::Unit::kNone};
  const MetricValue time{5e6, MetricValue::Unit::kNanoseconds};
  const BadParams cases[] = {
      {"share", {}, "says nothing"},
      {"share", {{"min", 0.6}, {"max", 0.5}}, "min is above max"},
      {"share", {{"tolerance", 0.1}, {"weights", Numbers{1}}}, "as many numbers"},
      {"share", {{"min", 0.1}, {"weights", Numbers{1}}}, "weights belong to tolerance"},
      {"ratio", {{"metric", "iops"}, {"between", Names{"a"}}, {"min", 1.0}}, "exactly two"},
      {"ratio", {{"metric", "iops"}, {"between", Names{"a", "b"}}}, "says nothing"},
      {"ratio",
       {{"metric", "iops"}, {"between", Names{"a", "b"}}, {"expected", 1.0}},
       "belong together"},
      {"ratio",
       {{"metric", "iops"},
        {"between", Names{"a", "b"}},
        {"expected", 1.0},
        {"tolerance", 0.1},
        {"min", 1.0}},
       "not both"},
      {"slowdown", {{"job", "a"}}, "says nothing"},
      {"slowdown", {{"job", "a"}, {"metric", "tags"}, {"max", 2.0}}, "no slowdown"},
      {"gap", {{"max", int64_t{1}}}, "one job or one queue"},
      {"gap", {{"job", "a"}, {"queue", "p:0"}, {"max", int64_t{1}}}, "one job or one queue"},
      {"jain", {{"min", 0.9}}, "among"},
      {"jain", {{"among", Names{"a"}}, {"min", 0.9}}, "two or more"},
      {"jain", {{"job", "a"}, {"weights", Numbers{1}}, {"min", 0.9}}, "clones are equal"},
      {"bound", {{"job", "a"}, {"metric", "iops"}}, "says nothing"},
      {"bound", {{"metric", "iops"}, {"min", number}}, "one job or one queue"},
      {"bound", {{"job", "a"}, {"metric", "lat_p99"}, {"max", number}}, "a time such as"},
      {"bound", {{"job", "a"}, {"metric", "iops"}, {"max", time}}, "a bare number"},
      {"work_conservation", {{"solo", Names{"a"}}, {"min", 0.9}}, "leave solo out"},
  };
  for (const BadParams& bad : cases) {
    const AssertSpec spec = MakeAssert(bad.kind, {"contention"}, bad.params);
    const auto problem = FindAssertion(bad.kind)->check(spec.params);
    ASSERT_TRUE(problem) << bad.kind << ": " << bad.complaint;
    EXPECT_NE(problem->find(bad.complaint), std::string::npos) << *problem;
  }
}

// Of all assertions of a scenario.
std::vector<std::string> ProblemsOf(const Scenario& scenario) {
  std::vector<std::string> all;
  for (const AssertSpec& spec : scenario.asserts) {
    for (std::string& problem : AssertionProblems(scenario, spec))
      all.push_back(std::move(problem));
  }
  return all;
}

TEST(AssertionTable, ShippedAssertionsAreSound) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  EXPECT_EQ(ProblemsOf(scenario), std::vector<std::string>{});
}

// --- in the scenario as a whole ---

TEST(AssertionProblems, JobWithoutAPartInThePhase) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = {MakeAssert("gap", {"solo_heavy"}, {{"job", "light"}, {"max", int64_t{1}}})};
  EXPECT_EQ(ProblemsOf(scenario),
            std::vector<std::string>{"light has no part in phase solo_heavy"});
}

TEST(AssertionProblems, SlowdownWithoutASoloPhase) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.phases.erase(scenario.phases.begin() + 1);
  scenario.asserts = {MakeAssert("slowdown", {"contention"}, {{"job", "light"}, {"max", 2.0}})};
  ASSERT_EQ(ProblemsOf(scenario).size(), 1U);
  EXPECT_NE(ProblemsOf(scenario)[0].find("solo"), std::string::npos);
}

TEST(AssertionProblems, B07FairnessUnderARateIsToldByResponses) {
  Scenario scenario = testing::LopsidedScenario();
  const auto problems = [&](std::string kind, std::string metric) {
    scenario.asserts = {MakeAssert(
        std::move(kind), {"contention"},
        {{"metric", std::move(metric)}, {"between", Names{"heavy", "light"}}, {"max", 2.0}})};
    return ProblemsOf(scenario);
  };
  scenario.jobs[0].rate_iops = 100;
  EXPECT_TRUE(problems("ratio", "lat_p99").empty());  // the other has no responses
  scenario.jobs[1].rate_iops = 100;
  ASSERT_EQ(problems("ratio", "lat_p99").size(), 1U);
  EXPECT_NE(problems("ratio", "lat_p99")[0].find("waited to begin: use response_p99"),
            std::string::npos);
  EXPECT_TRUE(problems("ratio", "response_p99").empty());
  EXPECT_TRUE(problems("ratio", "iops").empty());
}

TEST(AssertionProblems, CompletionLatencyAcrossEnginesOnAContendedSet) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.jobs[1].engine = "io_uring";
  const auto problems = [&](std::string metric, Contention contention) {
    scenario.asserts = {MakeAssert(
        "ratio", {"contention"},
        {{"metric", std::move(metric)}, {"between", Names{"heavy", "light"}}, {"max", 2.0}},
        contention)};
    return ProblemsOf(scenario);
  };
  ASSERT_EQ(problems("clat_p99", Contention::kRequired).size(), 1U);
  EXPECT_NE(problems("clat_p99", Contention::kRequired)[0].find("use lat_p99"), std::string::npos);
  EXPECT_EQ(problems("slat_mean", Contention::kAny).size(), 1U);
  EXPECT_TRUE(problems("clat_p99", Contention::kAbsent).empty());
  EXPECT_TRUE(problems("lat_p99", Contention::kRequired).empty());
  scenario.jobs[1].engine = "libaio";
  EXPECT_TRUE(problems("clat_p99", Contention::kRequired).empty());
  // One engine, and yet another moment at which it stamps issue.
  scenario.jobs[1].engine = scenario.jobs[0].engine = "io_uring";
  EXPECT_TRUE(problems("clat_p99", Contention::kRequired).empty());
  scenario.jobs[1].engine_params.Set("sqpoll", true);
  EXPECT_EQ(problems("clat_p99", Contention::kRequired).size(), 1U);
}

}  // namespace
}  // namespace blkfair
