#include "results/fairness/division.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "results/fairness/gates.h"
#include "results/statistics.h"

namespace blkfair {

namespace {

std::vector<const JobSpec*> JobsOn(const Scenario& scenario, const std::string& phase,
                                   const std::string& queue) {
  std::vector<const JobSpec*> jobs;
  const PhaseSpec* spec = scenario.FindPhase(phase);
  if (spec == nullptr) return jobs;
  for (const std::string& name : spec->jobs) {
    const JobSpec* job = scenario.JobInPhase(*spec, name);
    if (job != nullptr && job->queue.Name() == queue) jobs.push_back(job);
  }
  return jobs;
}

// What the jobs on a queue reach alone, summed; absent unless each has a clean solo phase
// other than this one.
std::optional<double> Alone(const Scenario& scenario, const Record& record,
                            const std::string& phase, const std::string& queue,
                            const MetricInfo& metric) {
  double sum = 0;
  const std::vector<const JobSpec*> jobs = JobsOn(scenario, phase, queue);
  if (jobs.empty()) return std::nullopt;
  for (const JobSpec* job : jobs) {
    const PhaseSpec* spec = scenario.SoloPhaseOf(job->name, phase);
    if (spec == nullptr || spec->name == phase) return std::nullopt;
    const PhaseRecord* solo = record.FindPhase(spec->name);
    if (solo == nullptr || PhaseGate(scenario, *solo)) return std::nullopt;
    const std::optional<Subject> subject = FindSubject(*solo, job->name);
    if (!subject) return std::nullopt;
    const Reading reading = ReadMetric(metric, *subject);
    if (!reading.value) return std::nullopt;
    sum += *reading.value;
  }
  return sum;
}

void FillFair(const Weights& weights, Division* division) {
  std::vector<double> wants;
  std::vector<double> weight_of;
  for (const Slice& slice : division->slices) {
    wants.push_back(slice.wants);
    const auto it = weights.find(slice.queue);
    weight_of.push_back(it == weights.end() ? 1.0 : it->second);
  }
  const std::vector<double> shares = MaxMinShares(division->total, wants, weight_of);
  for (size_t i = 0; i < shares.size(); i++) division->slices[i].fair = shares[i];
}

}  // namespace

const Slice* Division::Find(const std::string& queue) const {
  const auto it = std::find_if(slices.begin(), slices.end(),
                               [&](const Slice& slice) { return slice.queue == queue; });
  return it == slices.end() ? nullptr : &*it;
}

std::optional<double> Division::JainOfRatios() const {
  std::vector<double> ratios;
  for (const Slice& slice : slices) {
    if (slice.fair > 0) ratios.push_back(slice.got / slice.fair);
  }
  return Jain(ratios);
}

Division DivideTags(const Scenario& scenario, const Record& record, const PhaseRecord& phase,
                    const std::string& queue, const Weights& weights) {
  Division division;
  const std::string fixture = FixtureOfQueue(queue);
  const TagSetPhaseRecord* set = phase.FindTagSet(fixture);
  if (set == nullptr || set->usable_tags == 0) {
    division.absent = fmt::format("the tag set of {} was not observed", fixture);
    return division;
  }
  division.total = set->usable_tags;
  const FixtureRecord* facts = record.FindFixture(fixture);
  const bool shared = facts == nullptr || facts->shared;
  const MetricInfo& tags = MetricByName("tags");
  for (const QueueRecord& row : phase.queues) {
    if (FixtureOfQueue(row.queue) != fixture || row.demand == 0) continue;
    if (!shared && row.queue != queue) continue;
    if (!row.occupancy || !row.occupancy->mean) {
      division.absent = fmt::format("the tags that {} held were not sampled", row.queue);
      return division;
    }
    const auto demand = static_cast<double>(row.demand);
    const std::optional<double> alone = Alone(scenario, record, phase.name, row.queue, tags);
    division.slices.push_back(Slice{row.queue, *row.occupancy->mean,
                                    std::min(demand, alone.value_or(demand)), 0, 0,
                                    row.occupancy->source});
  }
  FillFair(weights, &division);
  return division;
}

Division DivideRate(const Scenario& scenario, const Record& record, const PhaseRecord& phase,
                    const MetricInfo& rate, const Weights& weights) {
  Division division;
  for (const QueueRecord& row : phase.queues) {
    if (row.demand == 0) continue;
    const std::optional<Subject> subject = FindSubject(phase, row.queue);
    if (!subject) {
      division.absent = fmt::format("{} left no figures in phase {}", row.queue, phase.name);
      return division;
    }
    const Reading reading = ReadMetric(rate, *subject);
    if (!reading.value) {
      division.absent = reading.absent;
      return division;
    }
    const double wants = Alone(scenario, record, phase.name, row.queue, rate)
                             .value_or(std::numeric_limits<double>::infinity());
    division.slices.push_back(Slice{row.queue, *reading.value, wants, 0,
                                    CountingNoise(static_cast<double>(reading.ios)), ""});
    division.total += *reading.value;
  }
  FillFair(weights, &division);
  return division;
}

std::string QueueLabel(const Scenario& scenario, const std::string& phase,
                       const std::string& queue) {
  std::string jobs;
  for (const JobSpec* job : JobsOn(scenario, phase, queue)) {
    jobs += (jobs.empty() ? "" : ", ") + job->name;
  }
  return jobs.empty() ? queue : fmt::format("{} ({})", queue, jobs);
}

std::string FixtureOfQueue(const std::string& queue) { return queue.substr(0, queue.rfind(':')); }

}  // namespace blkfair
