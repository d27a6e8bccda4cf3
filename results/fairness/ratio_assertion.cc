// ratio: one metric between two jobs or queues.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "results/fairness/observation.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "metric",
              .type = ParamType::kChoice,
              .required = true,
              .choices = kMetricChoices,
              .help = "what is compared"},
    ParamSpec{.name = "between",
              .type = ParamType::kString,
              .shape = ParamShape::kList,
              .required = true,
              .help = "two jobs or queues: the first is divided by the second",
              .refers = ParamRef::kJobOrQueue},
    ParamSpec{
        .name = "min", .type = ParamType::kNumber, .min = 0, .help = "least ratio that passes"},
    ParamSpec{
        .name = "max", .type = ParamType::kNumber, .min = 0, .help = "greatest ratio that passes"},
    ParamSpec{.name = "expected",
              .type = ParamType::kNumber,
              .min = 0,
              .help = "the ratio that should be, with a tolerance around it"},
    ParamSpec{.name = "tolerance",
              .type = ParamType::kPercent,
              .min = 0,
              .help = "how far from the expected ratio passes, as a part of it"},
};

std::optional<std::string> Check(const ParamValues& params) {
  if (params.Strings("between").size() != 2) return "between names exactly two jobs or queues";
  if (params.Has("expected") != params.Has("tolerance")) {
    return "expected and tolerance belong together";
  }
  if (!params.Has("expected")) return CheckMinMax(params);
  if (params.Has("min") || params.Has("max")) {
    return "give expected and tolerance, or min and max, not both";
  }
  return std::nullopt;
}

Observation ObserveRatio(const MetricInfo& metric, const PhaseRecord& phase,
                         const std::vector<std::string>& between) {
  const Observation first = ObserveMetric(metric, phase, between[0]);
  const Observation second = ObserveMetric(metric, phase, between[1]);
  // The graver of the two speaks when both have no value.
  if (!second.value && second.without != Outcome::kInconclusive) return second;
  for (const Observation& one : {first, second}) {
    if (!one.value) return NotObserved(one.why, one.without);
  }
  const std::string why = fmt::format("{} of {}: {}, of {}: {}", metric.name, between[0], first.why,
                                      between[1], second.why);
  if (*second.value == 0) {
    return NotObserved(why + ": no ratio",
                       metric.higher_is_better ? Outcome::kFail : Outcome::kInconclusive);
  }
  Observation ratio =
      Observed(*first.value / *second.value, why, std::hypot(first.noise, second.noise));
  ratio.resolution = first.resolution + second.resolution;
  return ratio;
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const MetricInfo& metric = MetricByName(params.String("metric"));
  const std::vector<std::string>& between = params.Strings("between");
  Bounds bounds = MinMax(params);
  if (params.Has("expected")) {
    bounds.min = params.Number("expected") * (1 - params.Number("tolerance"));
    bounds.max = params.Number("expected") * (1 + params.Number("tolerance"));
  }
  std::vector<Observation> observations;
  for (const Record& record : input.records) {
    observations.push_back(ObserveRatio(metric, PhaseOf(input, record), between));
  }
  return {Decide(NewVerdict(input, fmt::format("{}, {} / {}", metric.name, between[0], between[1])),
                 observations, bounds, ValueStyle{})};
}

}  // namespace

extern const AssertionInfo kRatioAssertionInfo;
const AssertionInfo kRatioAssertionInfo = {
    "ratio", "one metric of two jobs or queues, the first divided by the second", kParams, Check,
    Evaluate};

}  // namespace blkfair
