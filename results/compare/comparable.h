// Whether two Records may be compared at all: everything but what was declared to differ must be
// the same. Pure; any thread. Internal to results/compare.
#pragma once

#include <string>
#include <vector>

#include "results/compare/comparison.h"

namespace blkfair {

// One sentence for each difference, naming both values.
std::vector<std::string> DifferencesThatMatter(const Record& a, const Record& b,
                                               const CompareOptions& options);

}  // namespace blkfair
