// From the plan and the jobs' own results to the phase's record: queues, their series and gaps.
// Pure functions.
#pragma once

#include <vector>

#include "harness/measure/occupancy.h"
#include "harness/run/executor.h"
#include "results/record.h"

namespace blkfair {

// The queues that the plan's jobs use, each once, in the order of first use.
std::vector<Queue> QueuesOf(const PhasePlan& plan);
std::vector<MeteredQueue> MeteredQueuesOf(const PhasePlan& plan, const std::vector<Queue>& queues);

// Fills window, jobs and queues (without occupancy). A queue's series is the sum of its jobs'; its
// longest gap is exact with one job on it, and otherwise the smallest of its jobs' (the true one is
// not longer).
void FillPhaseRecord(const std::vector<Queue>& queues, PhaseResult result, PhaseRecord* record);

}  // namespace blkfair
