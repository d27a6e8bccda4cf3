// What a change gained and what it was paid with, phase by phase: the job that won most beside the
// one that lost most, the price (I/Os of all jobs, CPU time) beside the protection (slowdown, tail
// and longest wait of the light jobs). Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "results/compare/comparison.h"

namespace blkfair {

// Points into the Comparison.
struct Balance {
  std::string phase;
  // By I/Os per second, where the change is clear of none (or where nobody knows: a single pair).
  const ComparedMetric* winner = nullptr;
  const ComparedMetric* loser = nullptr;
  std::vector<const ComparedMetric*> price;
  std::vector<const ComparedMetric*> protection;
};

// Of every phase in which jobs run beside each other. The light jobs are those that keep fewer I/Os
// in flight than the deepest one; all of them where all are alike.
std::vector<Balance> BalancesOf(const Scenario& scenario, const Comparison& comparison);

}  // namespace blkfair
