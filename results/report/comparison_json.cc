// The JSON form of a comparison.
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "results/compare/balance.h"
#include "results/json_text.h"
#include "results/report/comparison_report.h"

namespace blkfair {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kComparisonSchema = 1;

Json Number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

const char* ScaleName(ChangeScale scale) {
  switch (scale) {
    case ChangeScale::kFactor:
      return "factor";
    case ChangeScale::kDifference:
      return "difference";
    case ChangeScale::kMedian:
      return "median factor";
  }
  CHECK(false);
}

// "factor" is the change as b / a whatever its scale; low and high are on the scale.
Json RowJson(const ComparedMetric& row) {
  Json json = {{"phase", row.phase},
               {"job", row.job},
               {"metric", row.metric},
               {"primary", row.primary},
               {"n", row.pairs},
               {"a", Number(row.a)},
               {"b", Number(row.b)},
               {"factor", Number(row.Factor())},
               {"scale", ScaleName(row.scale)},
               {"effect", nullptr},
               {"low", nullptr},
               {"high", nullptr},
               {"p", row.p},
               {"change", std::string(ChangeWord(row.change))},
               {"repeats_needed", nullptr},
               {"why", row.why}};
  if (row.primary) json["margin"] = row.margin;
  if (row.repeats_needed) json["repeats_needed"] = *row.repeats_needed;
  if (row.effect) {
    json["effect"] = row.effect->value;
    json["low"] = row.effect->low;
    json["high"] = row.effect->high;
  }
  return json;
}

Json BalanceJson(const Balance& balance) {
  const auto one = [](const ComparedMetric* row) {
    return row == nullptr
               ? Json(nullptr)
               : Json({{"job", row->job}, {"metric", row->metric}, {"factor", *row->Factor()}});
  };
  const auto list = [](const std::vector<const ComparedMetric*>& rows) {
    Json json = Json::array();
    for (const ComparedMetric* row : rows) {
      json.push_back({{"job", row->job},
                      {"metric", row->metric},
                      {"a", Number(row->a)},
                      {"b", Number(row->b)}});
    }
    return json;
  };
  return {{"phase", balance.phase},
          {"winner", one(balance.winner)},
          {"loser", one(balance.loser)},
          {"price", list(balance.price)},
          {"protection", list(balance.protection)}};
}

Json SideJson(const ComparedSide& side) {
  const EnvironmentRecord& environment = side.records.front().environment;
  return {{"name", side.name},
          {"n", side.records.size()},
          {"kernel_release", environment.kernel_release},
          {"kernel_version", environment.kernel_version}};
}

}  // namespace

std::string ComparisonJson(const ComparisonReportInput& input) {
  Json rows = Json::array();
  for (const ComparedMetric& row : input.comparison->metrics) rows.push_back(RowJson(row));
  Json balances = Json::array();
  for (const Balance& balance : BalancesOf(*input.scenario, *input.comparison)) {
    balances.push_back(BalanceJson(balance));
  }
  const Json report = {{"schema", kComparisonSchema},
                       {"tool", "blkfair"},
                       {"tool_version", input.a.records.front().tool_version},
                       {"scenario", input.scenario->name},
                       {"a", SideJson(input.a)},
                       {"b", SideJson(input.b)},
                       {"confidence", input.confidence},
                       {"looks", input.looks},
                       {"differences", input.comparison->differences},
                       {"warnings", input.comparison->warnings},
                       {"metrics", rows},
                       {"balance", balances},
                       {"conclusion", input.comparison->conclusion},
                       {"exit_code", input.comparison->exit_code},
                       {"command", input.command}};
  return PrettyJson(report.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace blkfair
