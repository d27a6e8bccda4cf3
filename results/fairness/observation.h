// What assertions share: one Observation per Record, bounds, and the verdict that follows from
// both. The only place where a number becomes pass or fail. Pure; any thread.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/fairness/assertion.h"
#include "results/fairness/metric.h"

namespace blkfair {

// The quantity of an assertion in one Record.
struct Observation {
  std::optional<double> value;
  // Without a value: it is no less than this, which may be too much all the same.
  std::optional<double> at_least = {};
  // Without a value: what that means (a queue that was starved fails, one that was not measured is
  // inconclusive), and `why` says why there is none.
  Outcome without = Outcome::kInconclusive;
  std::string why;        // with a value: the numbers behind it
  double noise = 0;       // relative counting noise of the value; 0 where it is not a count
  double resolution = 0;  // smallest relative step of the value: one count, one histogram bucket
};

Observation Observed(double value, std::string why, double noise = 0);
Observation NotObserved(std::string why, Outcome without = Outcome::kInconclusive);
// A metric of a job or queue in one phase of one record.
Observation ObserveMetric(const MetricInfo& metric, const PhaseRecord& phase,
                          const std::string& subject);

// How repeats of a quantity are put together.
enum class Spread : uint8_t {
  kFactor,      // compared by factors: t interval on logarithms
  kDifference,  // bounded, or zero at times: t interval on the values (shares, Jain's index)
  kExact,       // extremes: the median and its order statistics (gaps)
};

struct Bounds {
  std::optional<double> min;
  std::optional<double> max;
  Spread spread = Spread::kFactor;
  // What the quantity can be at most: no interval says more (nor less than nothing).
  double ceiling = std::numeric_limits<double>::infinity();
};

// Of every interval over repeats.
inline constexpr double kConfidence = 0.95;

// How values and bounds are written.
struct ValueStyle {
  const MetricInfo* metric = nullptr;  // null: a ratio

  std::string Value(double value) const;
  std::string Bound(double bound) const;
};

// A verdict with everything but the outcome: who, where, what.
Verdict NewVerdict(const JudgeInput& input, std::string what);
// Fills in observed, bound, outcome and why. `observations`: one per record. A single one is judged
// by its value, give or take the noise of its counts; repeats by the interval that holds the
// quantity: it passes or fails when all of it is on one side of the bound, and is inconclusive
// otherwise.
Verdict Decide(Verdict verdict, std::span<const Observation> observations, const Bounds& bounds,
               const ValueStyle& style);

// The phase of `input` in a record: it is there (JudgeInput says so).
const PhaseRecord& PhaseOf(const JudgeInput& input, const Record& record);
// Keys "min" and "max" where they are plain numbers.
Bounds MinMax(const ParamValues& params);
// The sentence for a table entry without min and max; empty when fine.
std::optional<std::string> CheckMinMax(const ParamValues& params);

}  // namespace blkfair
