// Numbers over numbers: what assertions and reports compute from the values of several queues, jobs
// or records, and how sure repeated runs make us of them. Pure.
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

// What is known of a quantity from n repeats: its best estimate, and the interval that holds it
// with the confidence that was asked for.
struct Estimate {
  size_t n = 0;
  double value = 0;
  double low = 0;
  double high = 0;
  // Half the width that chance explains, where the quantity is judged (logarithms for ratios). Not
  // below what the metric can resolve.
  double half_width = 0;
  bool logarithmic = false;
  double spread = 0;  // of one repeat, as half_width has it: what RepeatsToDecide needs
};

// Student's t interval of the mean. Absent below two values. `resolution`: half the step of the
// metric, in its unit: an interval is never narrower, however well repeats agree.
std::optional<Estimate> EstimateMean(std::span<const double> values, double confidence,
                                     double resolution = 0);
// The same on logarithms, for what is compared by factors: the geometric mean and its interval.
// `resolution` is relative here (a histogram's bucket, one count of n), and also what zeros are
// raised to, in units of `floor`. Absent below two values, or where one is negative.
std::optional<Estimate> EstimateFactor(std::span<const double> values, double confidence,
                                       double resolution = 0, double floor = 0);
// The median and its exact interval by order statistics, without any assumption about the spread.
// Absent while even minimum and maximum do not hold it with that confidence (95 %: below n = 6).
std::optional<Estimate> EstimateMedian(std::span<const double> values, double confidence);

// How many repeats like those of `estimate` would clear a bound from the side where the value is in
// nine of ten such series, were this value and this spread the true ones; at least one more than
// there are. Absent where the value stands on the bound, or where more than 10000 would not do.
std::optional<size_t> RepeatsToDecide(const Estimate& estimate, double bound, double confidence);

// Holm's step-down: of `p_values` (one per primary metric), which are significant at the level
// `alpha` for all together. In the order given.
std::vector<bool> HolmSignificant(std::span<const double> p_values, double alpha);

// The p value of Student's two-sided test that the mean of `values` is `expected`; 1 where there
// are fewer than two values, 0 or 1 where they are all alike.
double TTestP(std::span<const double> values, double expected);

// The exact p value of the two-sided sign test that the median of `values` is `expected`; values
// that are equal to it say nothing. 1 where all of them are.
double SignTestP(std::span<const double> values, double expected);
// The fewest repeats whose sign test can be significant at the level `alpha`, were all to agree.
size_t RepeatsForSigns(double alpha);

// How many of n trials, each of which comes out with probability p, may do so before chance
// explains it with less than `level`.
size_t MostByChance(size_t n, double p, double level);

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
