#include "scenarios/language/format_value.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <variant>

#include "base/check.h"
#include "base/units.h"
#include "scenarios/language/document.h"

namespace blkfair {

namespace {

std::string FormatNumber(double number) {
  std::array<char, 64> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return std::string(buffer.data(), written.ptr);
}

std::string InQuotes(const std::string& text) { return '"' + text + '"'; }

std::string FormatMetric(const MetricValue& metric) {
  switch (metric.unit) {
    case MetricValue::Unit::kNone:
      return FormatNumber(metric.value);
    case MetricValue::Unit::kNanoseconds:
      return InQuotes(FormatDuration(static_cast<int64_t>(metric.value)));
    case MetricValue::Unit::kBytes:
      return InQuotes(FormatSize(static_cast<int64_t>(metric.value)));
    case MetricValue::Unit::kFraction:
      return InQuotes(FormatPercent(metric.value));
  }
  CHECK(false);
}

std::string FormatScalar(const ParamSpec&, bool value) { return value ? "true" : "false"; }
std::string FormatScalar(const ParamSpec& spec, int64_t value) {
  if (spec.type == ParamType::kSize) return InQuotes(FormatSize(value));
  if (spec.type == ParamType::kDuration) return InQuotes(FormatDuration(value));
  return fmt::format("{}", value);
}
std::string FormatScalar(const ParamSpec& spec, double value) {
  return spec.type == ParamType::kPercent ? InQuotes(FormatPercent(value)) : FormatNumber(value);
}
std::string FormatScalar(const ParamSpec&, const std::string& value) { return QuoteToml(value); }
std::string FormatScalar(const ParamSpec&, const MetricValue& value) { return FormatMetric(value); }

template <typename T>
std::string FormatScalar(const ParamSpec& spec, const std::vector<T>& list) {
  if (spec.shape == ParamShape::kOneOrList && list.size() == 1) {
    return FormatScalar(spec, list.front());
  }
  std::string out = "[";
  for (const T& item : list) {
    if (out.size() > 1) out += ", ";
    out += FormatScalar(spec, item);
  }
  return out + "]";
}

}  // namespace

std::string FormatValue(const ParamSpec& spec, const ParamValue& value) {
  return std::visit([&](const auto& typed) { return FormatScalar(spec, typed); }, value);
}

std::string FormatBound(const ParamSpec& spec, double bound) {
  switch (spec.type) {
    case ParamType::kSize:
      return FormatSize(static_cast<int64_t>(bound));
    case ParamType::kDuration:
      return FormatDuration(static_cast<int64_t>(bound));
    case ParamType::kPercent:
      return FormatPercent(bound);
    default:
      return FormatNumber(bound);
  }
}

std::string BoundsText(const ParamSpec& spec) {
  const bool above_zero =
      (spec.type == ParamType::kSize || spec.type == ParamType::kDuration) && spec.min == 1;
  const bool has_min = std::isfinite(spec.min);
  const bool has_max = std::isfinite(spec.max);
  if (has_min && has_max && !above_zero) {
    return fmt::format("between {} and {}", FormatBound(spec, spec.min),
                       FormatBound(spec, spec.max));
  }
  std::string text;
  if (has_min) text = above_zero ? "above 0" : "at least " + FormatBound(spec, spec.min);
  if (has_max) text += (has_min ? " and at most " : "at most ") + FormatBound(spec, spec.max);
  return text;
}

}  // namespace blkfair
