// gap: nobody waits too long without any completion.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "results/fairness/observation.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "job",
              .type = ParamType::kString,
              .help = "the job; of its clones the one that waited longest counts",
              .refers = ParamRef::kJob},
    ParamSpec{.name = "queue",
              .type = ParamType::kString,
              .help = "the queue, instead of a job",
              .refers = ParamRef::kQueue},
    ParamSpec{.name = "max",
              .type = ParamType::kDuration,
              .required = true,
              .min = 0,
              .help = "longest time without a completion that passes; one that was still going on "
                      "when the window closed counts too"},
};

std::optional<std::string> Check(const ParamValues& params) {
  if (params.Has("job") == params.Has("queue")) return "name one job or one queue";
  return std::nullopt;
}

// Where the longest gap of a job lay.
std::string Where(const Subject& subject) {
  const JobRecord* worst = *std::max_element(
      subject.jobs.begin(), subject.jobs.end(),
      [](const JobRecord* a, const JobRecord* b) { return a->gap_max_ns < b->gap_max_ns; });
  return fmt::format("the longest wait of {}{} began {} after the phase did{}", worst->job,
                     subject.jobs.size() > 1 ? fmt::format("[{}]", worst->clone) : "",
                     HumanDuration(static_cast<double>(worst->gap_max_at_ns)),
                     worst->gap_censored ? ", and was still going on when the window closed" : "");
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const MetricInfo& metric = MetricByName("gap");
  const std::string& name = params.String(params.Has("job") ? "job" : "queue");
  std::vector<Observation> observations;
  for (const Record& record : input.records) {
    const PhaseRecord& phase = PhaseOf(input, record);
    Observation observation = ObserveMetric(metric, phase, name);
    if (observation.value) observation.why = Where(*FindSubject(phase, name));
    if (observation.value && phase.window_ns() <= params.Int("max")) {
      observation = NotObserved(fmt::format(
          "a window of {} cannot show that no wait is longer than {}: a longer runtime would",
          HumanDuration(static_cast<double>(phase.window_ns())),
          HumanDuration(static_cast<double>(params.Int("max")))));
    }
    observations.push_back(std::move(observation));
  }
  Bounds bounds;
  bounds.max = static_cast<double>(params.Int("max"));
  bounds.spread = Spread::kExact;
  return {Decide(NewVerdict(input, fmt::format("{}, longest wait without a completion", name)),
                 observations, bounds, ValueStyle{&metric})};
}

}  // namespace

extern const AssertionInfo kGapAssertionInfo;
const AssertionInfo kGapAssertionInfo = {
    "gap", "longest time in the window in which a job or queue completed nothing", kParams, Check,
    Evaluate};

}  // namespace blkfair
