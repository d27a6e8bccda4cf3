// The comparisons that `selftest` makes: simulated runs, or guests, with a spread from run to run,
// a planted change in one side, and the same arithmetic as in `ab`. Called by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/cli/progress_line.h"
#include "harness/guest/guest.h"
#include "results/compare/comparison.h"

namespace blkfair {

inline constexpr double kRunSpread = 0.02;  // standard deviation of a run's service times, relative
inline constexpr double kSelftestMargin = 0.02;
inline constexpr uint32_t kSelftestRepeats = 6;

// What is planted in B: the light job's device is slower, or the tags are not shared fairly.
struct Planted {
  std::string name;
  double slower = 0;
  std::string policy = "fair";
};

// One comparison of `repeats` simulated runs a side; everything random in it follows from `seed`.
Comparison SimulatedComparison(const Planted& planted, size_t repeats, uint64_t seed);

// The row of the job in which a change is planted.
const ComparedMetric& PlantedRow(const Comparison& comparison);
// Whether any primary metric is called better or worse.
bool CallsAChange(const Comparison& comparison);

// `count` comparisons of a kernel with itself, in guests, no two runs with the same seed.
Result<std::vector<Comparison>> GuestComparisons(const Kernel& kernel, size_t count,
                                                 ProgressLine* progress);

}  // namespace blkfair
