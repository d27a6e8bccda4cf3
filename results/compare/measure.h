// One metric over the pairs of repeats of both sides: its change, and how sure it is. Internal to
// results/compare. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/compare/comparison.h"

namespace blkfair {

using RecordPairs = std::vector<std::pair<const Record*, const Record*>>;

// The k-th repeat of one side with the k-th of the other, as far as both go.
RecordPairs PairsOf(std::span<const Record> a, std::span<const Record> b);

// `row` with everything filled in but the decision.
ComparedMetric Measure(const Scenario& scenario, ComparedMetric row, const RecordPairs& pairs,
                       double confidence);

// How many repeats of each side would settle a row, its level of error being `alpha` (a part of the
// whole where several are decided together).
std::optional<size_t> RepeatsThatSettle(const ComparedMetric& row, double alpha);

}  // namespace blkfair
