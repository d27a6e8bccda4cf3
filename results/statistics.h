// Numbers over numbers: what assertions and reports compute from the values of several queues, jobs
// or records. Confidence intervals over repeated runs belong here. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace blkfair {

// One quantity over n records of the same scenario.
struct Summary {
  size_t n = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  std::optional<double> stddev;  // of the sample; absent below two values: the spread is unknown
};

// `values`: at least one.
Summary Summarise(std::span<const double> values);

// Jain's index over values[i] / weights[i]: 1 when all are equal, 1/n when one has everything.
// `weights` may be empty (all equal). Absent where there are no values or all are zero.
std::optional<double> Jain(std::span<const double> values, std::span<const double> weights = {});

// The max-min fair division of `capacity`: nobody gets more than its demand, and what one does not
// want goes to the others in proportion to their weights (empty: equal). Demands may be infinite.
std::vector<double> MaxMinShares(double capacity, std::span<const double> demands,
                                 std::span<const double> weights = {});

// How far a count of n independent events strays by chance, as a fraction of n (two standard
// deviations): a tolerance below it decides nothing.
double CountingNoise(double n);

}  // namespace blkfair
