// Comparison: what a change (another kernel, another value of one key) did, from the Records of
// both sides. Each metric gets its factor of change over pairs of repeats, with an interval and a
// word: worse, better, equivalent within a margin, or inconclusive. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "results/record.h"
#include "results/statistics.h"
#include "scenarios/language/model.h"

namespace blkfair {

// The keys of a [[compare]] table: what a scenario names as primary, and how much is no change.
std::span<const ParamSpec> CompareParams();

enum class Change : uint8_t {
  kWorse,
  kBetter,
  kEquivalent,    // within the margin
  kInconclusive,  // neither is shown
  kUnknown,       // one run of each side: there is a change, and nobody knows how sure it is
  kDescriptive,   // not a primary metric: nothing is claimed
};
std::string_view ChangeWord(Change change);

// What a change is measured by, and how sure repeats make us of it.
enum class ChangeScale : uint8_t {
  kFactor,      // b / a: Student's interval on logarithms
  kDifference,  // b - a, where a logarithm makes no sense (zeros, bounded shares): Student's
  kMedian,      // b / a of extremes (gaps): the median of the pairs, and its order statistics
};

// One metric of one job, of one phase.
struct ComparedMetric {
  std::string phase;
  std::string job;     // kAllJobs: what the whole phase did
  std::string metric;  // of AllMetrics(), or kSlowdown: I/Os per second alone, by those here
  bool primary = false;
  double margin = 0;  // primary only; relative, to A where the scale is a difference
  size_t pairs = 0;
  std::optional<double> a;  // means over the repeats, in the metric's base unit
  std::optional<double> b;
  ChangeScale scale = ChangeScale::kFactor;
  std::optional<Estimate> effect;  // on that scale, with its interval; absent for a single pair
  bool within_margin = false;      // by two one-sided tests, each at the level of the interval
  double p = 1;                    // that nothing changed: Student's test, for medians by signs
  Change change = Change::kDescriptive;
  std::string why;  // without an effect, or where inconclusive: what would settle it
  std::optional<size_t> repeats_needed;  // of each side, where inconclusive

  bool higher_is_better() const;
  // Whether the interval lies on one side of no change.
  bool Clear() const;
  // b / a, also where there is no interval; absent where A has nothing.
  std::optional<double> Factor() const;
};
inline constexpr std::string_view kAllJobs = "all jobs";
inline constexpr std::string_view kSlowdown = "slowdown";

struct Comparison {
  // Why the two sides must not be compared; empty: they can be. With `force` they are warnings.
  std::vector<std::string> differences;
  std::vector<std::string> warnings;    // what weakens the figures of one side or of both
  std::vector<ComparedMetric> metrics;  // primary ones first, in the scenario's order
  std::string conclusion;               // one sentence
  int exit_code = 4;                    // 0, 1 worse, 2 not comparable, 3 error, 4 inconclusive
};

struct CompareOptions {
  // Keys that were declared to differ ("fixture.pair.scheduler"); for kernels: none.
  std::vector<std::string> declared;
  bool kernels_differ = false;
  bool force = false;
  double confidence = 0.95;  // of the intervals; higher where the data was looked at before
};

// `a` and `b`: at least one record each, paired in the order of their repeats. The canonical
// scenarios may differ in nothing but the declared keys and the number of repeats; tag depth,
// devices, CPUs, time, clock and source of occupancy must agree.
Comparison Compare(const Scenario& scenario, std::span<const Record> a, std::span<const Record> b,
                   const CompareOptions& options);

}  // namespace blkfair
