// share: how the tags of a set, or the work done on it, were divided among its queues.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "results/fairness/division.h"
#include "results/fairness/observation.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "of",
              .type = ParamType::kChoice,
              .default_text = "tags",
              .choices = "tags|iops|bytes",
              .help = "what is divided: the usable tags of the set, the I/Os, the bytes"},
    ParamSpec{.name = "queues",
              .type = ParamType::kString,
              .shape = ParamShape::kList,
              .help = "the queues judged, each by itself; by default all of the phase",
              .refers = ParamRef::kQueue},
    ParamSpec{.name = "min",
              .type = ParamType::kNumber,
              .min = 0,
              .max = 1,
              .help = "least part of the whole that passes, 0 to 1"},
    ParamSpec{.name = "max",
              .type = ParamType::kNumber,
              .min = 0,
              .max = 1,
              .help = "greatest part of the whole that passes, 0 to 1"},
    ParamSpec{
        .name = "tolerance",
        .type = ParamType::kPercent,
        .min = 0,
        .help = "how far from its max-min fair share a queue may be, as a part of that share"},
    ParamSpec{.name = "weights",
              .type = ParamType::kNumber,
              .shape = ParamShape::kList,
              .min = 1e-9,
              .help = "what each of queues is entitled to in relation to the others; equal by "
                      "default"},
};

std::optional<std::string> Check(const ParamValues& params) {
  const bool tolerance = params.Has("tolerance");
  if (params.Has("weights")) {
    if (!tolerance) return "weights belong to tolerance: min and max are parts of the whole";
    if (!params.Has("queues") ||
        params.Strings("queues").size() != params.Numbers("weights").size()) {
      return "weights has as many numbers as queues has names";
    }
  }
  if (!tolerance && !params.Has("min") && !params.Has("max")) {
    return "says nothing: give min, max or tolerance";
  }
  return params.Has("min") || params.Has("max") ? CheckMinMax(params) : std::nullopt;
}

Weights WeightsOf(const ParamValues& params) {
  Weights weights;
  if (!params.Has("weights")) return weights;
  for (size_t i = 0; i < params.Strings("queues").size(); i++) {
    weights[params.Strings("queues")[i]] = params.Numbers("weights")[i];
  }
  return weights;
}

Division DivisionOf(const JudgeInput& input, const Record& record, const std::string& queue) {
  const std::string& of = input.spec->params.String("of");
  const PhaseRecord& phase = PhaseOf(input, record);
  const Weights weights = WeightsOf(input.spec->params);
  if (of == "tags") return DivideTags(*input.scenario, record, phase, queue, weights);
  return DivideRate(*input.scenario, record, phase, MetricByName(of == "iops" ? "iops" : "bw"),
                    weights);
}

std::string Amount(const std::string& of, double value) {
  if (of == "tags") return fmt::format("{:.1f} tags", value);
  const MetricInfo& metric = MetricByName(of == "iops" ? "iops" : "bw");
  return FormatMetric(metric, value) + (of == "iops" ? " IOPS" : "");
}

// The whole, as `what` names it.
std::string Whole(const std::string& of, const Division& division) {
  if (of != "tags") return of == "iops" ? "all I/Os" : "all bytes";
  if (!division.absent.empty()) return "the usable tags";
  return fmt::format("{:.0f} usable tags", division.total);
}

Observation ObservePart(const std::string& of, const Division& division, const std::string& queue) {
  if (!division.absent.empty()) return NotObserved(division.absent);
  const Slice* slice = division.Find(queue);
  if (slice == nullptr) {
    return NotObserved(fmt::format("{} had no part in the phase", queue), Outcome::kError);
  }
  if (division.total <= 0) return NotObserved("nothing was done at all", Outcome::kFail);
  const std::string why =
      of == "tags" ? fmt::format("{:.1f} of {:.0f} tags, as \"{}\" counts them", slice->got,
                                 division.total, slice->source)
                   : fmt::format("{} of {}", Amount(of, slice->got), Amount(of, division.total));
  return Observed(slice->got / division.total, why, slice->noise);
}

Observation ObserveFairness(const std::string& of, const Division& division,
                            const std::string& queue) {
  Observation part = ObservePart(of, division, queue);
  if (!part.value) return part;
  const Slice& slice = *division.Find(queue);
  if (slice.fair <= 0) return NotObserved(fmt::format("{} wanted nothing", queue));
  const std::optional<double> jain = division.JainOfRatios();
  const std::string why = fmt::format(
      "got {}, wants {}, max-min fair share {}; Jain over all queues {}", Amount(of, slice.got),
      std::isinf(slice.wants) ? "all it can get" : Amount(of, slice.wants), Amount(of, slice.fair),
      jain ? fmt::format("{:.3f}", *jain) : "-");
  return Observed(slice.got / slice.fair, why, slice.noise);
}

std::vector<std::string> QueuesOf(const JudgeInput& input) {
  if (input.spec->params.Has("queues")) return input.spec->params.Strings("queues");
  std::vector<std::string> queues;
  for (const QueueRecord& queue : PhaseOf(input, input.records.front()).queues) {
    if (queue.demand > 0) queues.push_back(queue.queue);
  }
  return queues;
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const std::string& of = params.String("of");
  std::vector<Verdict> verdicts;
  for (const std::string& queue : QueuesOf(input)) {
    std::vector<Observation> parts;
    std::vector<Observation> fairness;
    Division division;
    for (const Record& record : input.records) {
      division = DivisionOf(input, record, queue);
      parts.push_back(ObservePart(of, division, queue));
      fairness.push_back(ObserveFairness(of, division, queue));
    }
    const std::string label = QueueLabel(*input.scenario, input.phase, queue);
    const std::string whole = Whole(of, division);
    if (params.Has("min") || params.Has("max")) {
      Bounds bounds = MinMax(params);
      bounds.spread = Spread::kDifference;
      bounds.ceiling = 1;
      verdicts.push_back(Decide(NewVerdict(input, fmt::format("{}, part of {}", label, whole)),
                                parts, bounds, ValueStyle{}));
    }
    if (params.Has("tolerance")) {
      const double tolerance = params.Number("tolerance");
      verdicts.push_back(Decide(
          NewVerdict(input, fmt::format("{}, against its fair share of {}", label, whole)),
          fairness, Bounds{1 - tolerance, 1 + tolerance, Spread::kDifference}, ValueStyle{}));
    }
  }
  if (verdicts.empty()) {
    verdicts.push_back(Decide(NewVerdict(input, "share of each queue"),
                              std::vector{NotObserved("no queue had a part in the phase")}, {},
                              ValueStyle{}));
  }
  return verdicts;
}

}  // namespace

extern const AssertionInfo kShareAssertionInfo;
const AssertionInfo kShareAssertionInfo = {
    "share", "the part of each queue of the tags, I/Os or bytes, absolute or against max-min fair",
    kParams, Check, Evaluate};

}  // namespace blkfair
