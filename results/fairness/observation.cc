#include "results/fairness/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
    if (observation.value || observation.at_least) continue;
    if (worst == nullptr || gravity(observation.without) > gravity(worst->without)) {
      worst = &observation;
    }
  }
  return worst;
}

std::string ListOf(std::span<const double> values, const ValueStyle& style) {
  std::string list;
  for (const double value : values) list += (list.empty() ? "" : ", ") + style.Value(value);
  return list;
}

// Some observations are only known to be no less than what was judged: what holds of anything
// greater as well stands, and nothing else.
void KeepWhatIsCertain(std::span<const Observation> observations, const Bounds& bounds,
                       Verdict* verdict) {
  const auto uncertain =
      std::find_if(observations.begin(), observations.end(),
                   [](const Observation& observation) { return !observation.value; });
  if (uncertain == observations.end()) return;
  const double low = verdict->low.value_or(verdict->observed_value.value_or(0));
  const bool too_much = verdict->outcome == Outcome::kFail && bounds.max && low > *bounds.max;
  const bool enough = verdict->outcome == Outcome::kPass && !bounds.max;
  if (!too_much && !enough) verdict->outcome = Outcome::kInconclusive;
  if (verdict->observed_value) verdict->observed = ">= " + verdict->observed;
  verdict->why = uncertain->why;
}

// A single record knows no spread, but its counts have noise of their own: nothing is decided by a
// value that they may have carried over the bound.
void CheckNoise(double value, double noise, const Bounds& bounds, Verdict* verdict) {
  const double low = value * (1 - noise);
  const double high = value * (1 + noise);
  const bool inside = (!bounds.min || low >= *bounds.min) && (!bounds.max || high <= *bounds.max);
  const bool outside = (bounds.min && high < *bounds.min) || (bounds.max && low > *bounds.max);
  if (inside || outside) return;
  double distance = std::numeric_limits<double>::infinity();  // to the nearest bound, relative
  for (const std::optional<double>& bound : {bounds.min, bounds.max}) {
    if (bound) distance = std::min(distance, std::fabs(value - *bound) / value);
  }
  verdict->outcome = Outcome::kInconclusive;
  const double factor = noise / distance;
  verdict->why = fmt::format(
      "{}; so few I/Os have a counting noise of {:.2g} %, more than its distance to the bound: {}",
      verdict->why, noise * 100,
      std::isfinite(factor) && factor < 1000
          ? fmt::format("{:.0f} times the I/Os (a longer runtime) would settle it",
                        std::ceil(factor * factor))
          : std::string("it lies on the bound"));
}

std::optional<Estimate> EstimateOf(std::span<const double> values, double resolution,
                                   const Bounds& bounds) {
  if (bounds.spread == Spread::kExact) return EstimateMedian(values, kConfidence);
  std::optional<Estimate> estimate;
  if (bounds.spread == Spread::kFactor) {
    estimate = EstimateFactor(values, kConfidence, resolution);
  }
  if (!estimate) {  // a difference, or a zero among the values
    estimate = EstimateMean(values, kConfidence, resolution * Summarise(values).mean);
  }
  if (estimate) {
    estimate->low = std::max(estimate->low, 0.0);
    estimate->high = std::min(estimate->high, bounds.ceiling);
  }
  return estimate;
}

// What would settle an interval that holds a bound.
std::string RepeatsThatWouldDo(const Estimate& estimate, const Bounds& bounds, Spread spread) {
  if (spread == Spread::kExact) return "more repeats may settle it";
  std::optional<size_t> most = 0;
  for (const std::optional<double>& bound : {bounds.min, bounds.max}) {
    if (!bound || estimate.low > *bound || estimate.high < *bound) continue;
    const std::optional<size_t> repeats = RepeatsToDecide(estimate, *bound, kConfidence);
    most = most && repeats ? std::optional(std::max(*most, *repeats)) : std::nullopt;
  }
  if (!most) return "no number of repeats is likely to settle it: it lies on the bound";
  return fmt::format("about {} repeats would settle it", *most);
}

void DecideByRepeats(std::span<const Observation> observations, std::span<const double> values,
                     const Bounds& bounds, const ValueStyle& style, Verdict* verdict) {
  double resolution = 0;
  for (const Observation& observation : observations) {
    resolution = std::max(resolution, observation.resolution);
  }
  const std::optional<Estimate> estimate = EstimateOf(values, resolution, bounds);
  if (!estimate) {
    verdict->outcome = Outcome::kInconclusive;
    verdict->why = fmt::format("{} repeats hold no median with confidence: 6 would; they are {}",
                               values.size(), ListOf(values, style));
    return;
  }
  verdict->observed_value = estimate->value;
  verdict->observed = style.Value(estimate->value);
  verdict->low = estimate->low;
  verdict->high = estimate->high;
  const bool inside = (!bounds.min || estimate->low >= *bounds.min) &&
                      (!bounds.max || estimate->high <= *bounds.max);
  const bool outside =
      (bounds.min && estimate->high < *bounds.min) || (bounds.max && estimate->low > *bounds.max);
  verdict->outcome = inside ? Outcome::kPass : outside ? Outcome::kFail : Outcome::kInconclusive;
  const std::string interval =
      fmt::format("{:.0f} % interval {} .. {} over {} repeats ({})", kConfidence * 100,
                  style.Value(estimate->low), style.Value(estimate->high), values.size(),
                  ListOf(values, style));
  verdict->why = inside || outside
                     ? fmt::format("{}; in the first: {}", interval, observations.front().why)
                     : fmt::format("{} holds the bound: {}", interval,
                                   RepeatsThatWouldDo(*estimate, bounds, bounds.spread));
}

}  // namespace

Observation Observed(double value, std::string why, double noise) {
  Observation observation;
  observation.value = value;
  observation.why = std::move(why);
  observation.noise = noise;
  return observation;
}

Observation NotObserved(std::string why, Outcome without) {
  Observation observation;
  observation.without = without;
  observation.why = std::move(why);
  return observation;
}

Observation ObserveMetric(const MetricInfo& metric, const PhaseRecord& phase,
                          const std::string& name) {
  const std::optional<Subject> subject = FindSubject(phase, name);
  if (!subject) {
    return NotObserved(fmt::format("{} left no figures in phase {}", name, phase.name),
                       Outcome::kError);
  }
  const Reading reading = ReadMetric(metric, *subject);
  if (reading.at_least && !reading.saturated) {
    Observation observation = NotObserved(reading.absent);
    observation.at_least = reading.at_least;
    return observation;
  }
  if (!reading.value) {
    return reading.starved
               ? NotObserved(fmt::format("{} was starved: it completed nothing in the window, "
                                         "though its I/Os were waiting",
                                         name),
                             Outcome::kFail)
               : NotObserved(reading.absent);
  }
  const bool counted = metric.kind == MetricKind::kIops || metric.kind == MetricKind::kBandwidth;
  const auto ios = static_cast<double>(reading.ios);
  Observation observation = Observed(*reading.value, FormatMetric(metric, *reading.value),
                                     counted ? CountingNoise(ios) : 0);
  if (counted && ios > 0) observation.resolution = 1 / ios;
  if (metric.kind == MetricKind::kPercentile) observation.resolution = 1.0 / 256;  // a bucket
  return observation;
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
  for (const Observation& observation : observations) {
    values.push_back(observation.value ? *observation.value : *observation.at_least);
  }
  verdict.n = values.size();
  if (values.size() > 1) {
    DecideByRepeats(observations, values, bounds, style, &verdict);
    KeepWhatIsCertain(observations, bounds, &verdict);
    return verdict;
  }
  const double value = values.front();
  verdict.observed_value = value;
  verdict.observed = style.Value(value);
  verdict.why = observations.front().why;
  const bool inside = value >= bounds.min.value_or(value) && value <= bounds.max.value_or(value);
  verdict.outcome = inside ? Outcome::kPass : Outcome::kFail;
  if (value > 0) CheckNoise(value, observations.front().noise, bounds, &verdict);
  KeepWhatIsCertain(observations, bounds, &verdict);
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
