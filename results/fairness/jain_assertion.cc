// jain: Jain's index of one metric over several jobs or queues, or over the clones of one job.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "results/fairness/observation.h"
#include "results/statistics.h"

namespace blkfair {

namespace {

constexpr size_t kListed = 4;  // more values than these are given as least and greatest

constexpr std::array kParams = {
    ParamSpec{.name = "metric",
              .type = ParamType::kChoice,
              .default_text = "iops",
              .choices = kMetricChoices,
              .help = "what should be equal"},
    ParamSpec{.name = "among",
              .type = ParamType::kString,
              .shape = ParamShape::kList,
              .help = "two or more jobs or queues",
              .refers = ParamRef::kJobOrQueue},
    ParamSpec{.name = "job",
              .type = ParamType::kString,
              .help = "a job whose clones are compared, instead of among",
              .refers = ParamRef::kJob},
    ParamSpec{.name = "weights",
              .type = ParamType::kNumber,
              .shape = ParamShape::kList,
              .min = 1e-9,
              .help = "what each of among is entitled to, in relation to the others"},
    ParamSpec{.name = "min",
              .type = ParamType::kNumber,
              .required = true,
              .min = 0,
              .max = 1,
              .help = "least index that passes: 1 when all are equal, 1/n when one has everything"},
};

std::optional<std::string> Check(const ParamValues& params) {
  if (params.Has("among") == params.Has("job")) {
    return "name jobs or queues in among, or one job with clones in job";
  }
  if (params.Has("among") && params.Strings("among").size() < 2) {
    return "among names two or more";
  }
  if (!params.Has("weights")) return std::nullopt;
  if (params.Has("job")) return "weights belong to among: clones are equal";
  if (params.Numbers("weights").size() != params.Strings("among").size()) {
    return "weights has as many numbers as among has names";
  }
  return std::nullopt;
}

std::string ListValues(const MetricInfo& metric, const std::vector<std::string>& names,
                       const std::vector<double>& values) {
  if (values.size() > kListed) {
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    const auto name = [&](auto it) { return names[static_cast<size_t>(it - values.begin())]; };
    return fmt::format("{} of {}, from {} ({}) to {} ({})", metric.name, values.size(),
                       FormatMetric(metric, *min), name(min), FormatMetric(metric, *max),
                       name(max));
  }
  std::string list;
  for (size_t i = 0; i < values.size(); i++) {
    list += fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i], FormatMetric(metric, values[i]));
  }
  return list;
}

Observation ObserveJain(const JudgeInput& input, const PhaseRecord& phase,
                        const MetricInfo& metric) {
  const ParamValues& params = input.spec->params;
  std::vector<Subject> subjects;
  if (params.Has("job")) {
    subjects = ClonesOf(phase, params.String("job"));
  } else {
    for (const std::string& name : params.Strings("among")) {
      const std::optional<Subject> subject = FindSubject(phase, name);
      if (!subject) {
        return NotObserved(fmt::format("{} left no figures in phase {}", name, phase.name),
                           Outcome::kError);
      }
      subjects.push_back(*subject);
    }
  }
  if (subjects.size() < 2) return NotObserved("one alone is always equal to itself");
  std::vector<std::string> names;
  std::vector<double> values;
  for (const Subject& subject : subjects) {
    const Reading reading = ReadMetric(metric, subject);
    if (!reading.value) {
      return NotObserved(reading.absent, reading.starved ? Outcome::kFail : Outcome::kInconclusive);
    }
    names.push_back(subject.name);
    values.push_back(*reading.value);
  }
  const std::vector<double> weights =
      params.Has("weights") ? params.Numbers("weights") : std::vector<double>{};
  const std::optional<double> jain = Jain(values, weights);
  if (!jain) return NotObserved(fmt::format("{} is 0 for all of them", metric.name));
  return Observed(*jain, ListValues(metric, names, values));
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const MetricInfo& metric = MetricByName(params.String("metric"));
  std::string whom;
  if (params.Has("job")) {
    whom = "clones of " + params.String("job");
  } else {
    for (const std::string& name : params.Strings("among")) {
      whom += (whom.empty() ? "" : ", ") + name;
    }
  }
  std::vector<Observation> observations;
  for (const Record& record : input.records) {
    observations.push_back(ObserveJain(input, PhaseOf(input, record), metric));
  }
  Bounds bounds;
  bounds.min = params.Number("min");
  bounds.spread = Spread::kDifference;
  bounds.ceiling = 1;
  return {Decide(NewVerdict(input, fmt::format("Jain of {}: {}", metric.name, whom)), observations,
                 bounds, ValueStyle{})};
}

}  // namespace

extern const AssertionInfo kJainAssertionInfo;
const AssertionInfo kJainAssertionInfo = {
    "jain", "Jain's index of a metric over jobs or queues, or over the clones of a job", kParams,
    Check, Evaluate};

}  // namespace blkfair
