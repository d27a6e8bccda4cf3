#include "results/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace blkfair {

namespace {

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
