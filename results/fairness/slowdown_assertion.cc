// slowdown: how much worse a job fares beside others than alone.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "results/fairness/gates.h"
#include "results/fairness/observation.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "metric",
              .type = ParamType::kChoice,
              .default_text = "iops",
              .choices = kMetricChoices,
              .help = "what gets worse: a rate (alone / beside others), a latency or the gap "
                      "(beside others / alone)"},
    ParamSpec{.name = "job",
              .type = ParamType::kString,
              .required = true,
              .help = "the job",
              .refers = ParamRef::kJob},
    ParamSpec{.name = "solo",
              .type = ParamType::kString,
              .help = "the phase in which it runs alone; by default the one with this job only",
              .refers = ParamRef::kPhase},
    ParamSpec{.name = "min",
              .type = ParamType::kNumber,
              .min = 0,
              .help = "least slowdown that passes (1: as fast as alone)"},
    ParamSpec{.name = "max",
              .type = ParamType::kNumber,
              .min = 0,
              .help = "greatest slowdown that passes"},
};

std::optional<std::string> Check(const ParamValues& params) {
  const MetricInfo& metric = MetricByName(params.String("metric"));
  if (metric.kind == MetricKind::kErrors || metric.kind == MetricKind::kTags ||
      metric.kind == MetricKind::kDepth || metric.kind == MetricKind::kShare) {
    return fmt::format("{} has no slowdown: use iops, bw, gap or a latency", metric.name);
  }
  return CheckMinMax(params);
}

std::string SoloPhaseName(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  if (params.Has("solo")) return params.String("solo");
  const PhaseSpec* solo = input.scenario->SoloPhaseOf(params.String("job"), input.phase);
  return solo == nullptr ? "" : solo->name;
}

Observation ObserveSlowdown(const JudgeInput& input, const Record& record, const MetricInfo& metric,
                            const std::string& job) {
  const std::string solo_name = SoloPhaseName(input);
  const PhaseRecord* solo = record.FindPhase(solo_name);
  if (solo == nullptr) {
    return NotObserved(fmt::format("there is no phase in which {} ran alone", job));
  }
  if (auto gate = PhaseGate(*input.scenario, *solo)) return NotObserved(gate->why, gate->outcome);
  const Observation alone = ObserveMetric(metric, *solo, job);
  const Observation shared = ObserveMetric(metric, PhaseOf(input, record), job);
  if (!alone.value) return NotObserved("alone: " + alone.why, alone.without);
  if (shared.at_least && *alone.value > 0) {
    Observation slowdown = NotObserved(shared.why);
    slowdown.at_least = *shared.at_least / *alone.value;
    return slowdown;
  }
  if (!shared.value) return shared;
  const std::string why =
      fmt::format("{} alone ({}), {} beside others", alone.why, solo_name, shared.why);
  const double worse = metric.higher_is_better ? *alone.value : *shared.value;
  const double better = metric.higher_is_better ? *shared.value : *alone.value;
  if (better > 0) {
    Observation slowdown = Observed(worse / better, why, std::hypot(alone.noise, shared.noise));
    slowdown.resolution = alone.resolution + shared.resolution;
    return slowdown;
  }
  return metric.higher_is_better
             ? NotObserved(fmt::format("{} was starved: {}", job, why), Outcome::kFail)
             : NotObserved(fmt::format("no slowdown: {}", why));
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const MetricInfo& metric = MetricByName(params.String("metric"));
  const std::string& job = params.String("job");
  std::vector<Observation> observations;
  for (const Record& record : input.records) {
    observations.push_back(ObserveSlowdown(input, record, metric, job));
  }
  const std::string_view direction = metric.higher_is_better ? "alone / shared" : "shared / alone";
  return {Decide(NewVerdict(input, fmt::format("{} {}, {}", job, metric.name, direction)),
                 observations, MinMax(params), ValueStyle{})};
}

}  // namespace

extern const AssertionInfo kSlowdownAssertionInfo;
const AssertionInfo kSlowdownAssertionInfo = {
    "slowdown", "one metric of a job beside others, against the same job alone", kParams, Check,
    Evaluate};

}  // namespace blkfair
