#include "results/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "base/check.h"

namespace blkfair {

namespace {

constexpr size_t kMostRepeats = 10'000;

// How often a series of the recommended length is to be decided.
constexpr double kPower = 0.9;

// Two-sided: how many standard errors hold `confidence`.
double TQuantile(size_t n, double confidence) {
  const boost::math::students_t distribution(static_cast<double>(n - 1));
  return boost::math::quantile(distribution, 0.5 + confidence / 2);
}

double HalfWidth(const Summary& summary, double confidence, double resolution) {
  const double width = TQuantile(summary.n, confidence) * *summary.stddev /
                       std::sqrt(static_cast<double>(summary.n));
  return std::max(width, resolution);
}

// The standard deviation of one repeat that such an interval of the mean stands for.
double SpreadOf(size_t n, double half_width, double confidence) {
  return half_width * std::sqrt(static_cast<double>(n)) / TQuantile(n, confidence);
}

double WeightOf(std::span<const double> weights, size_t i) {
  return weights.empty() ? 1.0 : weights[i];
}

}  // namespace

Summary Summarise(std::span<const double> values) {
  CHECK(!values.empty());
  Summary summary;
  summary.n = values.size();
  const auto n = static_cast<double>(values.size());
  for (const double value : values) summary.mean += value / n;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  summary.min = *min;
  summary.max = *max;
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
    summary.stddev = std::sqrt(squares / (n - 1));
  }
  return summary;
}

std::optional<Estimate> EstimateMean(std::span<const double> values, double confidence,
                                     double resolution) {
  if (values.size() < 2) return std::nullopt;
  const Summary summary = Summarise(values);
  const double half = HalfWidth(summary, confidence, resolution);
  return Estimate{summary.n,
                  summary.mean,
                  summary.mean - half,
                  summary.mean + half,
                  half,
                  false,
                  SpreadOf(summary.n, half, confidence)};
}

std::optional<Estimate> EstimateFactor(std::span<const double> values, double confidence,
                                       double resolution, double floor) {
  if (values.size() < 2) return std::nullopt;
  std::vector<double> logs;
  for (const double value : values) {
    const double raised = std::max(value, floor);
    if (raised <= 0) return std::nullopt;
    logs.push_back(std::log(raised));
  }
  const Summary summary = Summarise(logs);
  const double half = HalfWidth(summary, confidence, std::log1p(resolution));
  return Estimate{summary.n,
                  std::exp(summary.mean),
                  std::exp(summary.mean - half),
                  std::exp(summary.mean + half),
                  half,
                  true,
                  SpreadOf(summary.n, half, confidence)};
}

std::optional<Estimate> EstimateMedian(std::span<const double> values, double confidence) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  // The k-th smallest and the k-th largest miss the median with probability 2 P(B(n, 1/2) < k).
  const boost::math::binomial coins(static_cast<double>(n), 0.5);
  size_t k = 0;
  while (k < n / 2 && 2 * boost::math::cdf(coins, static_cast<double>(k)) <= 1 - confidence) k++;
  if (k == 0) return std::nullopt;
  const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  const double low = sorted[k - 1];
  const double high = sorted[n - k];
  return Estimate{n, median, low, high, (high - low) / 2, false};
}

std::optional<size_t> RepeatsToDecide(const Estimate& estimate, double bound, double confidence) {
  const double distance =
      estimate.logarithmic ? (bound > 0 ? std::fabs(std::log(estimate.value) - std::log(bound)) : 0)
                           : std::fabs(estimate.value - bound);
  if (distance == 0 || estimate.n < 2) return std::nullopt;
  for (size_t n = estimate.n + 1; n <= kMostRepeats; n += std::max<size_t>(1, n / 50)) {
    // The interval's half width, and by how much the value may stray to the wrong side.
    const double errors = TQuantile(n, confidence) + TQuantile(n, 2 * kPower - 1);
    if (errors * estimate.spread / std::sqrt(static_cast<double>(n)) < distance) return n;
  }
  return std::nullopt;
}

std::vector<bool> HolmSignificant(std::span<const double> p_values, double alpha) {
  std::vector<size_t> order(p_values.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<bool> significant(p_values.size(), false);
  for (size_t rank = 0; rank < order.size(); rank++) {
    if (p_values[order[rank]] > alpha / static_cast<double>(order.size() - rank)) break;
    significant[order[rank]] = true;
  }
  return significant;
}

double TTestP(std::span<const double> values, double expected) {
  if (values.size() < 2) return 1;
  const Summary summary = Summarise(values);
  const double error = *summary.stddev / std::sqrt(static_cast<double>(summary.n));
  if (error == 0) return summary.mean == expected ? 1 : 0;
  const boost::math::students_t distribution(static_cast<double>(summary.n - 1));
  return 2 * boost::math::cdf(
                 boost::math::complement(distribution, std::fabs(summary.mean - expected) / error));
}

double SignTestP(std::span<const double> values, double expected) {
  const auto above = std::count_if(values.begin(), values.end(),
                                   [expected](double value) { return value > expected; });
  const auto below = std::count_if(values.begin(), values.end(),
                                   [expected](double value) { return value < expected; });
  if (above + below == 0) return 1;
  const boost::math::binomial coins(static_cast<double>(above + below), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(coins, static_cast<double>(std::min(above, below))));
}

size_t RepeatsForSigns(double alpha) {
  size_t n = 1;
  while (std::ldexp(2, -static_cast<int>(n)) > alpha) n++;
  return n;
}

size_t MostByChance(size_t n, double p, double level) {
  const boost::math::binomial trials(static_cast<double>(n), p);
  size_t most = 0;
  while (most < n &&
         boost::math::cdf(boost::math::complement(trials, static_cast<double>(most))) > level) {
    most++;
  }
  return most;
}

std::optional<double> Jain(std::span<const double> values, std::span<const double> weights) {
  CHECK(weights.empty() || weights.size() == values.size());
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < values.size(); i++) {
    const double x = values[i] / WeightOf(weights, i);
    sum += x;
    squares += x * x;
  }
  if (squares == 0) return std::nullopt;
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

std::vector<double> MaxMinShares(double capacity, std::span<const double> demands,
                                 std::span<const double> weights) {
  CHECK(weights.empty() || weights.size() == demands.size());
  std::vector<double> shares(demands.size(), 0.0);
  std::vector<bool> satisfied(demands.size(), false);
  // Each round satisfies at least one demand for good, or divides what is left and ends.
  for (size_t round = 0; round <= demands.size(); round++) {
    double weight_left = 0;
    for (size_t i = 0; i < demands.size(); i++) {
      if (!satisfied[i]) weight_left += WeightOf(weights, i);
    }
    if (weight_left <= 0) break;
    const double level = capacity / weight_left;
    bool any_satisfied = false;
    for (size_t i = 0; i < demands.size(); i++) {
      if (satisfied[i] || demands[i] > level * WeightOf(weights, i)) continue;
      satisfied[i] = any_satisfied = true;
      shares[i] = demands[i];
      capacity = std::max(0.0, capacity - demands[i]);
    }
    if (any_satisfied) continue;
    for (size_t i = 0; i < demands.size(); i++) {
      if (!satisfied[i]) shares[i] = level * WeightOf(weights, i);
    }
    break;
  }
  return shares;
}

double CountingNoise(double n) {
  return n > 0 ? 2 / std::sqrt(n) : std::numeric_limits<double>::infinity();
}

}  // namespace blkfair
