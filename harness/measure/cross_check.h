// What two sources of a phase say about each other: tag occupancy against the kernel's counters and
// against the I/Os that the jobs had in flight. Called by the orchestrator, when all of them stand
// in the record.
#pragma once

#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// Fills in service_mean and waiting_mean of each queue's occupancy, where they can be told.
void CrossCheckOccupancy(const Scenario& scenario, PhaseRecord* phase);

}  // namespace blkfair
