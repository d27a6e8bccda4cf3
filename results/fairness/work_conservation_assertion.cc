// work_conservation: what somebody wants is not left unused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "results/fairness/division.h"
#include "results/fairness/gates.h"
#include "results/fairness/observation.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "of",
              .type = ParamType::kChoice,
              .default_text = "tags",
              .choices = "tags|iops|bytes",
              .help =
                  "tags: held / those that are wanted and usable; iops, bytes: of all jobs / of "
                  "the best job alone"},
    ParamSpec{.name = "solo",
              .type = ParamType::kString,
              .shape = ParamShape::kList,
              .help = "the phases to compare iops or bytes with; by default the solo phases of the "
                      "jobs",
              .refers = ParamRef::kPhase},
    ParamSpec{.name = "min",
              .type = ParamType::kNumber,
              .required = true,
              .min = 0,
              .help = "least part that passes; 1 is all of it"},
};

std::optional<std::string> Check(const ParamValues& params) {
  if (params.Has("solo") && params.String("of") == "tags") {
    return "solo phases say nothing about tags: leave solo out";
  }
  return std::nullopt;
}

// The demand on a tag set that it could satisfy.
double Satisfiable(const Record& record, const PhaseRecord& phase, const TagSetPhaseRecord& set) {
  const FixtureRecord* facts = record.FindFixture(set.fixture);
  const bool shared = facts == nullptr || facts->shared;
  double sum = 0;
  for (const QueueRecord& queue : phase.queues) {
    if (FixtureOfQueue(queue.queue) != set.fixture) continue;
    sum += shared ? queue.demand : std::min(queue.demand, set.usable_tags);
  }
  return shared ? std::min(sum, static_cast<double>(set.usable_tags)) : sum;
}

Observation ObserveTags(const Record& record, const PhaseRecord& phase,
                        const std::string& fixture) {
  const TagSetPhaseRecord* set = phase.FindTagSet(fixture);
  if (set == nullptr)
    return NotObserved(fmt::format("the tag set of {} was not observed", fixture));
  double held = 0;
  for (const QueueRecord& queue : phase.queues) {
    if (FixtureOfQueue(queue.queue) != fixture || queue.demand == 0) continue;
    if (!queue.occupancy || !queue.occupancy->mean) {
      return NotObserved(fmt::format("the tags that {} held were not sampled", queue.queue));
    }
    held += *queue.occupancy->mean;
  }
  const double satisfiable = Satisfiable(record, phase, *set);
  if (satisfiable <= 0) return NotObserved(fmt::format("nobody wanted tags of {}", fixture));
  return Observed(
      held / satisfiable,
      fmt::format("{:.1f} tags held of {:.0f} that were wanted and usable", held, satisfiable));
}

std::vector<std::string> SoloPhases(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  if (params.Has("solo")) return params.Strings("solo");
  std::vector<std::string> phases;
  const PhaseSpec* spec = input.scenario->FindPhase(input.phase);
  for (const std::string& job : spec == nullptr ? std::vector<std::string>{} : spec->jobs) {
    const PhaseSpec* solo = input.scenario->SoloPhaseOf(job, input.phase);
    if (solo != nullptr && solo->name != input.phase) phases.push_back(solo->name);
  }
  return phases;
}

// Of all jobs of a phase; absent when one of them has no figure.
Observation ObserveTotal(const PhaseRecord& phase, const MetricInfo& rate) {
  double total = 0;
  std::set<std::string> seen;
  for (const JobRecord& job : phase.jobs) {
    if (!seen.insert(job.job).second) continue;
    const Reading reading = ReadMetric(rate, *FindSubject(phase, job.job));
    if (!reading.value) return NotObserved(reading.absent);
    total += *reading.value;
  }
  return Observed(total, FormatMetric(rate, total));
}

Observation ObserveRate(const JudgeInput& input, const Record& record, const MetricInfo& rate) {
  const Observation total = ObserveTotal(PhaseOf(input, record), rate);
  if (!total.value) return total;
  double best = 0;
  std::string best_phase;
  for (const std::string& name : SoloPhases(input)) {
    const PhaseRecord* solo = record.FindPhase(name);
    if (solo == nullptr) return NotObserved(fmt::format("the record has no phase {}", name));
    if (auto gate = PhaseGate(*input.scenario, *solo)) return NotObserved(gate->why, gate->outcome);
    const Observation alone = ObserveTotal(*solo, rate);
    if (!alone.value) return alone;
    if (*alone.value > best) {
      best = *alone.value;
      best_phase = name;
    }
  }
  if (best <= 0) return NotObserved("there is no solo phase to compare with");
  return Observed(*total.value / best,
                  fmt::format("{} {} of all together, {} in {}", rate.name, total.why,
                              FormatMetric(rate, best), best_phase));
}

std::vector<Verdict> Evaluate(const JudgeInput& input) {
  const ParamValues& params = input.spec->params;
  const std::string& of = params.String("of");
  Bounds bounds;
  bounds.min = params.Number("min");
  bounds.spread = Spread::kDifference;
  bounds.ceiling = 1;
  const ValueStyle style;
  if (of != "tags") {
    const MetricInfo& rate = MetricByName(of == "iops" ? "iops" : "bw");
    std::vector<Observation> observations;
    for (const Record& record : input.records) {
      observations.push_back(ObserveRate(input, record, rate));
    }
    return {Decide(NewVerdict(input, fmt::format("{} of all jobs, against the best alone", of)),
                   observations, bounds, style)};
  }
  std::set<std::string> fixtures;
  for (const QueueRecord& queue : PhaseOf(input, input.records.front()).queues) {
    if (queue.demand > 0) fixtures.insert(FixtureOfQueue(queue.queue));
  }
  std::vector<Verdict> verdicts;
  for (const std::string& fixture : fixtures) {
    std::vector<Observation> observations;
    for (const Record& record : input.records) {
      observations.push_back(ObserveTags(record, PhaseOf(input, record), fixture));
    }
    verdicts.push_back(Decide(NewVerdict(input, fmt::format("wanted tags of {} in use", fixture)),
                              observations, bounds, style));
  }
  if (verdicts.empty()) {
    verdicts.push_back(Decide(NewVerdict(input, "wanted tags in use"),
                              std::vector{NotObserved("no queue had a part in the phase")}, bounds,
                              style));
  }
  return verdicts;
}

}  // namespace

extern const AssertionInfo kWorkConservationAssertionInfo;
const AssertionInfo kWorkConservationAssertionInfo = {
    "work_conservation", "what is wanted of the tags, or was done by one job alone, is made use of",
    kParams, Check, Evaluate};

}  // namespace blkfair
