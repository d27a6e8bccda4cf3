// Cross-checks: what the sources of a record say about each other. The jobs' counts against the
// kernel's, the tags that were held against throughput x service, the generator against its CPU.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// Whether a job's I/O is any at all: the engine null has none, and no kernel counts it.
bool ReachesTheDevice(const JobRecord& job);
// Whether I/O of the jobs on a queue is not in the kernel's counters of it.
bool PassesByTheCounters(const Scenario& scenario, const PhaseRecord& phase,
                         const std::string& queue);
// How long after the ends of the window they were read, the later of both.
int64_t CountersLateNs(const PhaseRecord& phase, const KernelCountersRecord& kernel);

// Why throughput x service, by the kernel's counters, is not how many tags a queue held; empty when
// it is. And the figure, where it is one.
std::optional<std::string> WhyNoService(const Scenario& scenario, const PhaseRecord& phase,
                                        const QueueRecord& queue);
std::optional<double> TagsByService(const Scenario& scenario, const PhaseRecord& phase,
                                    const QueueRecord& queue);

// Where two sources disagree, and where that could not be told: as (what it is about, sentence).
std::vector<std::pair<std::string, std::string>> CounterWarnings(const Scenario& scenario,
                                                                 const PhaseRecord& phase);

// The part of one CPU that the thread of a job used, over the phase.
double CpuFraction(const PhaseRecord& phase, const JobRecord& job);

// Why the rate of a job is that of its generator: its thread used a whole CPU, and still its depth
// was not full. Empty when it is not.
std::optional<std::string> WhyGeneratorBound(const PhaseRecord& phase, const JobRecord& job);

}  // namespace blkfair
