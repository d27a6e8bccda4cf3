// bound: one metric of one job or queue, in absolute terms.
#include <fmt/format.h>

#include <array>

#include "results/fairness/observation.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "metric",
              .type = ParamType::kChoice,
              .required = true,
              .choices = kMetricChoices,
              .help = "what is bounded"},
    ParamSpec{.name = "job",
              .type = ParamType::kString,
              .help = "the job, all clones together",
              .refers = ParamRef::kJob},
    ParamSpec{.name = "queue",
              .type = ParamType::kString,
              .help = "the queue, instead of a job",
              .refers = ParamRef::kQueue},
    ParamSpec{.name = "min",
              .type = ParamType::kMetricValue,
              .help = "least value that passes, in the unit of the metric"},
    ParamSpec{.name = "max",
              .type = ParamType::kMetricValue,
              .help = "greatest value that passes, in the unit of the metric"},
};

// "5ms", as the metric wants it.
std::string_view Form(const MetricInfo& metric) {
  switch (metric.unit) {
    case MetricValue::Unit::kNanoseconds:
      return "a time such as \"5ms\"";
    case MetricValue::Unit::kBytes:
      return "bytes per second such as \"10MiB\"";
    case MetricValue::Unit::kNone:
    case MetricValue::Unit::kFraction:
      break;
  }
  return "a bare number such as 500";
}

std::optional<std::string> Check(const ParamValues& params) {
  if (params.Has("job") == params.Has("queue")) return "name one job or one queue";
  if (!params.Has("min") && !params.Has("max")) return "says nothing: give min, max or both";
  const MetricInfo& metric = MetricByName(params.String("metric"));
  for (const std::string_view key : {"min", "max"}) {
    if (!params.Has(key) || params.Metric(key).unit == metric.unit) continue;
    return fmt::format("{} of {} is {}", key, metric.name, Form(metric));
  }
  if (params.Has("min") && params.Has("max") &&
      params.Metric("min").value > params.Metric("max").value) {
    return "min is above max";
  }
  return std::nullopt;
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const MetricInfo& metric = MetricByName(params.String("metric"));
  const std::string& name = params.String(params.Has("job") ? "job" : "queue");
  Bounds bounds;
  if (params.Has("min")) bounds.min = params.Metric("min").value;
  if (params.Has("max")) bounds.max = params.Metric("max").value;
  std::vector<Observation> observations;
  for (const Record& record : input.records) {
    const PhaseRecord& phase = PhaseOf(input, record);
    Observation observation = ObserveMetric(metric, phase, name);
    if (observation.value) {
      observation.why =
          fmt::format("{} I/Os in the window", ReadMetric(metric, *FindSubject(phase, name)).ios);
    }
    observations.push_back(std::move(observation));
  }
  return {Decide(NewVerdict(input, fmt::format("{} {}", name, metric.name)), observations, bounds,
                 ValueStyle{&metric})};
}

}  // namespace

extern const AssertionInfo kBoundAssertionInfo;
const AssertionInfo kBoundAssertionInfo = {"bound", "one metric of a job or queue, absolute",
                                           kParams, Check, Evaluate};

}  // namespace blkfair
