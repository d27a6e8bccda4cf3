// Cross-checks: what the sources of a record say about each other. The jobs' counts against the
// kernel's, the tags that were held against throughput x service, the generator against its CPU.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// Where two sources disagree: as (what it is about, sentence).
std::vector<std::pair<std::string, std::string>> CounterWarnings(const Scenario& scenario,
                                                                 const PhaseRecord& phase);

// The part of one CPU that the thread of a job used, over the phase.
double CpuFraction(const PhaseRecord& phase, const JobRecord& job);

// Why the rate of a job is that of its generator: its thread used a whole CPU, and still its depth
// was not full. Empty when it is not.
std::optional<std::string> WhyGeneratorBound(const PhaseRecord& phase, const JobRecord& job);

}  // namespace blkfair
