// Whether two Records may be compared at all: everything but what was declared to differ must be
// the same. Pure; any thread. Internal to results/compare.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/compare/comparison.h"

namespace blkfair {

// One sentence for each difference, naming both values.
std::vector<std::string> DifferencesThatMatter(const Record& a, const Record& b,
                                               const CompareOptions& options);
// The part of it that is about kernel and machine.
std::vector<std::string> MachineDifferences(const Record& a, const Record& b,
                                            const CompareOptions& options);
// What the audits of both sides warn of, and where they differ in what came with the declared
// change: one sentence each.
std::vector<std::string> AuditWarnings(std::span<const Record> a, std::span<const Record> b,
                                       const CompareOptions& options);

}  // namespace blkfair
