// How something that several queues draw from was divided among them in one phase, beside the
// max-min fair division of it. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/fairness/metric.h"
#include "scenarios/language/model.h"

namespace blkfair {

struct Slice {
  std::string queue;
  double got = 0;
  double wants = 0;    // no more than this; infinite where nothing limits it
  double fair = 0;     // its max-min fair share, never above `wants`
  double noise = 0;    // relative counting noise of `got`
  std::string source;  // tags: which counter they were read from, and why that one
};

struct Division {
  double total = 0;  // usable tags, or what all queues got together
  std::vector<Slice> slices;
  std::string absent;  // why nothing can be said; empty when something can

  const Slice* Find(const std::string& queue) const;
  // Jain's index over got / fair of all slices, or empty.
  std::optional<double> JainOfRatios() const;
};

// Of queues that are not in it, the weight is 1.
using Weights = std::map<std::string, double>;

// The usable tags of the set that `queue` draws from (its own alone where the set is not shared).
// A queue wants what it holds when alone (solo phases, where there are clean ones), at most its
// demand.
Division DivideTags(const Scenario& scenario, const Record& record, const PhaseRecord& phase,
                    const std::string& queue, const Weights& weights);

// What all queues of the phase got together of `rate` (iops or bw). A queue wants what its jobs do
// alone, where all of them have a clean solo phase.
Division DivideRate(const Scenario& scenario, const Record& record, const PhaseRecord& phase,
                    const MetricInfo& rate, const Weights& weights);

// "pair:0 (heavy)": the queue with the jobs on it.
std::string QueueLabel(const Scenario& scenario, const std::string& phase,
                       const std::string& queue);
// "pair" of "pair:0".
std::string FixtureOfQueue(const std::string& queue);

}  // namespace blkfair
