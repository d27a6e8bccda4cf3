// The JSON form of a comparison.
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "results/json_text.h"
#include "results/report/comparison_report.h"

namespace blkfair {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kComparisonSchema = 1;

Json Number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json RowJson(const ComparedMetric& row) {
  Json json = {{"phase", row.phase},   {"job", row.job},
               {"metric", row.metric}, {"primary", row.primary},
               {"n", row.pairs},       {"a", Number(row.a)},
               {"b", Number(row.b)},   {"factor", nullptr},
               {"low", nullptr},       {"high", nullptr},
               {"p", row.p},           {"change", std::string(ChangeWord(row.change))},
               {"why", row.why}};
  if (row.primary) json["margin"] = row.margin;
  if (row.factor) {
    json["factor"] = row.factor->value;
    json["low"] = row.factor->low;
    json["high"] = row.factor->high;
  }
  return json;
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
  const Json report = {{"schema", kComparisonSchema},
                       {"tool", "blkfair"},
                       {"tool_version", input.a.records.front().tool_version},
                       {"scenario", input.scenario->name},
                       {"a", SideJson(input.a)},
                       {"b", SideJson(input.b)},
                       {"confidence", input.confidence},
                       {"differences", input.comparison->differences},
                       {"metrics", rows},
                       {"conclusion", input.comparison->conclusion},
                       {"exit_code", input.comparison->exit_code},
                       {"command", input.command}};
  return PrettyJson(report.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace blkfair
