#include "results/fairness/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "results/statistics.h"

namespace blkfair {

namespace {

std::string BoundsText(const Bounds& bounds, const ValueStyle& style) {
  if (bounds.min && bounds.max) {
    return style.Bound(*bounds.min) + " .. " + style.Bound(*bounds.max);
  }
  if (bounds.min) return ">= " + style.Bound(*bounds.min);
  if (bounds.max) return "<= " + style.Bound(*bounds.max);
  return "-";
}

// The gravest of the observations that have no value: error before fail before inconclusive.
const Observation* WorstAbsent(std::span<const Observation> observations) {
  const Observation* worst = nullptr;
  const auto gravity = [](Outcome outcome) {
    return outcome == Outcome::kError ? 2 : outcome == Outcome::kFail ? 1 : 0;
  };
  for (const Observation& observation : observations) {
    if (observation.value) continue;
    if (worst == nullptr || gravity(observation.without) > gravity(worst->without)) {
      worst = &observation;
    }
  }
  return worst;
}

std::string WhyOfAll(std::span<const Observation> observations, const ValueStyle& style) {
  if (observations.size() == 1) return observations.front().why;
  std::string values;
  for (const Observation& observation : observations) {
    values += (values.empty() ? "" : ", ") + style.Value(*observation.value);
  }
  return fmt::format("mean of {} records: {}; in the first: {}", observations.size(), values,
                     observations.front().why);
}

// Of the mean over the records.
double NoiseOf(std::span<const Observation> observations) {
  double squares = 0;
  for (const Observation& observation : observations) {
    squares += observation.noise * observation.noise;
  }
  return std::sqrt(squares) / static_cast<double>(observations.size());
}

}  // namespace

Observation Observed(double value, std::string why, double noise) {
  return Observation{value, Outcome::kInconclusive, std::move(why), noise};
}

Observation NotObserved(std::string why, Outcome without) {
  return Observation{std::nullopt, without, std::move(why), 0};
}

Observation ObserveMetric(const MetricInfo& metric, const PhaseRecord& phase,
                          const std::string& name) {
  const std::optional<Subject> subject = FindSubject(phase, name);
  if (!subject) {
    return NotObserved(fmt::format("{} left no figures in phase {}", name, phase.name),
                       Outcome::kError);
  }
  const Reading reading = ReadMetric(metric, *subject);
  if (!reading.value) {
    return reading.starved
               ? NotObserved(fmt::format("{} was starved: it completed nothing in the window, "
                                         "though its I/Os were waiting",
                                         name),
                             Outcome::kFail)
               : NotObserved(reading.absent);
  }
  const bool counted = metric.kind == MetricKind::kIops || metric.kind == MetricKind::kBandwidth;
  return Observed(*reading.value, FormatMetric(metric, *reading.value),
                  counted ? CountingNoise(static_cast<double>(reading.ios)) : 0);
}

std::string ValueStyle::Value(double value) const {
  if (metric != nullptr) return FormatMetric(*metric, value);
  return std::fabs(value) >= 100 || value == 0 ? fmt::format("{:.0f}", value)
         : std::fabs(value) >= 0.1             ? fmt::format("{:.2f}", value)
                                               : fmt::format("{:.2g}", value);
}

std::string ValueStyle::Bound(double bound) const {
  if (metric != nullptr) return FormatMetric(*metric, bound);
  return fmt::format("{:g}", bound);
}

Verdict NewVerdict(const JudgeInput& input, std::string what) {
  Verdict verdict;
  verdict.assertion = input.spec->name;
  verdict.kind = input.spec->kind;
  verdict.phase = input.phase;
  verdict.what = std::move(what);
  verdict.observed = "-";
  verdict.bound = "-";
  return verdict;
}

Verdict Decide(Verdict verdict, std::span<const Observation> observations, const Bounds& bounds,
               const ValueStyle& style) {
  CHECK(!observations.empty());
  verdict.bound = BoundsText(bounds, style);
  if (const Observation* absent = WorstAbsent(observations)) {
    verdict.outcome = absent->without;
    verdict.why = absent->why;
    return verdict;
  }
  std::vector<double> values;
  for (const Observation& observation : observations) values.push_back(*observation.value);
  const double mean = Summarise(values).mean;
  verdict.observed_value = mean;
  verdict.observed = style.Value(mean);
  verdict.why = WhyOfAll(observations, style);
  const bool inside = mean >= bounds.min.value_or(mean) && mean <= bounds.max.value_or(mean);
  verdict.outcome = inside ? Outcome::kPass : Outcome::kFail;
  const double noise = NoiseOf(observations);
  if (!bounds.tolerance || *bounds.tolerance >= noise) return verdict;
  // Further outside than chance explains is a failure all the same.
  const bool surely_outside = mean < *bounds.min * (1 - noise) || mean > *bounds.max * (1 + noise);
  if (surely_outside) return verdict;
  const double factor = noise / *bounds.tolerance;
  verdict.outcome = Outcome::kInconclusive;
  verdict.why = fmt::format(
      "a tolerance of {:.2g}% is below the counting noise of {:.2g}%: {:.0f} times the I/Os "
      "(runtime "
      "times repeats) would settle it",
      *bounds.tolerance * 100, noise * 100, std::ceil(factor * factor));
  return verdict;
}

const PhaseRecord& PhaseOf(const JudgeInput& input, const Record& record) {
  const PhaseRecord* phase = record.FindPhase(input.phase);
  CHECK(phase != nullptr);
  return *phase;
}

Bounds MinMax(const ParamValues& params) {
  Bounds bounds;
  if (params.Has("min")) bounds.min = params.Number("min");
  if (params.Has("max")) bounds.max = params.Number("max");
  return bounds;
}

std::optional<std::string> CheckMinMax(const ParamValues& params) {
  if (!params.Has("min") && !params.Has("max")) {
    return "says nothing: give min, max or both";
  }
  const Bounds bounds = MinMax(params);
  if (bounds.min && bounds.max && *bounds.min > *bounds.max) return "min is above max";
  return std::nullopt;
}

}  // namespace blkfair
