#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "base/check.h"

namespace blkfair {

namespace {

__extension__ typedef __int128 Int128;  // not ISO C++

struct Unit {
  std::string_view suffix;
  int64_t factor;
};

// Larger units first: of two equally short forms the earlier one is taken.
constexpr std::array<Unit, 9> kSizeUnits = {{{"TiB", int64_t{1} << 40},
                                             {"GiB", int64_t{1} << 30},
                                             {"MiB", int64_t{1} << 20},
                                             {"KiB", int64_t{1} << 10},
                                             {"TB", 1'000'000'000'000},
                                             {"GB", 1'000'000'000},
                                             {"MB", 1'000'000},
                                             {"kB", 1'000},
                                             {"B", 1}}};
constexpr std::array<Unit, 6> kDurationUnits = {{{"h", 3'600'000'000'000},
                                                 {"min", 60'000'000'000},
                                                 {"s", 1'000'000'000},
                                                 {"ms", 1'000'000},
                                                 {"us", 1'000},
                                                 {"ns", 1}}};

constexpr std::string_view kSizeForm =
    "a size is a number and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, such as \"128KiB\"";
constexpr std::string_view kDurationForm =
    "a duration is a number and one of ns, us, ms, s, min, h, such as \"50ms\"";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "12.50" and what follows it. Both digit strings are empty where there are no digits.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;  // without trailing zeros
  std::string_view suffix;
};

std::optional<Decimal> SplitDecimal(std::string_view text) {
  Decimal parts;
  size_t i = 0;
  while (i < text.size() && IsDigit(text[i])) i++;
  parts.whole = text.substr(0, i);
  if (parts.whole.empty()) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    const size_t start = ++i;
    while (i < text.size() && IsDigit(text[i])) i++;
    if (i == start) return std::nullopt;
    parts.fraction = text.substr(start, i - start);
    while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.remove_suffix(1);
  }
  parts.suffix = text.substr(i);
  return parts;
}

enum class ScaleError { kOverflow, kNotWhole };

// whole.fraction * factor as an exact integer.
tl::expected<int64_t, ScaleError> Scale(const Decimal& decimal, int64_t factor) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr size_t kMaxDecimals = 24;  // so that everything below fits 128 bits
  Int128 total = 0;
  for (const char c : decimal.whole) {
    total = total * 10 + (c - '0');
    if (total > kMax) return tl::unexpected(ScaleError::kOverflow);
  }
  total *= factor;
  if (total > kMax) return tl::unexpected(ScaleError::kOverflow);

  if (decimal.fraction.size() > kMaxDecimals) return tl::unexpected(ScaleError::kNotWhole);
  Int128 numerator = 0;
  Int128 denominator = 1;
  for (const char c : decimal.fraction) {
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  // Cancel what the factor and the power of ten have in common; then what is left of the power of
  // ten must divide the digits.
  Int128 rest = factor;
  for (const int prime : {2, 5}) {
    while (rest % prime == 0 && denominator % prime == 0) {
      rest /= prime;
      denominator /= prime;
    }
  }
  if (numerator % denominator != 0) return tl::unexpected(ScaleError::kNotWhole);
  total += numerator / denominator * rest;
  if (total > kMax) return tl::unexpected(ScaleError::kOverflow);
  return static_cast<int64_t>(total);
}

Result<int64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                              std::string_view form, std::string_view smallest) {
  const std::optional<Decimal> decimal = SplitDecimal(text);
  if (!decimal) {
    return Fail(ErrorKind::kUsage, fmt::format("cannot read \"{}\": {}", text, form));
  }
  for (const Unit& unit : units) {
    if (unit.suffix != decimal->suffix) continue;
    const auto scaled = Scale(*decimal, unit.factor);
    if (scaled) return *scaled;
    if (scaled.error() == ScaleError::kOverflow) {
      return Fail(ErrorKind::kUsage, fmt::format("\"{}\" is too large", text));
    }
    return Fail(ErrorKind::kUsage,
                fmt::format("\"{}\" is not a whole number of {}", text, smallest));
  }
  if (decimal->suffix.empty()) {
    return Fail(ErrorKind::kUsage, fmt::format("\"{}\" lacks its unit: {}", text, form));
  }
  return Fail(ErrorKind::kUsage, fmt::format("cannot read \"{}\": {}", text, form));
}

std::string FormatWithUnit(int64_t value, std::span<const Unit> units, std::string_view zero) {
  CHECK(value >= 0);
  if (value == 0) return std::string(zero);
  std::string best;
  for (const Unit& unit : units) {
    if (value % unit.factor != 0) continue;
    std::string text = fmt::format("{}{}", value / unit.factor, unit.suffix);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

// Three significant digits, four where the value has four before the point; whole numbers bare.
std::string Significant(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95 || value == std::trunc(value)) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

struct HumanUnit {
  std::string_view suffix;
  double factor;
};

// The largest unit of which `value` is at least one, as it will be printed.
std::string Human(double value, std::span<const HumanUnit> units_ascending) {
  if (!std::isfinite(value)) return "-";
  size_t i = 0;
  while (i + 1 < units_ascending.size() &&
         std::fabs(value) >= 0.9995 * units_ascending[i + 1].factor) {
    i++;
  }
  return Significant(value / units_ascending[i].factor) + std::string(units_ascending[i].suffix);
}

}  // namespace

Result<int64_t> ParseSize(std::string_view text) {
  return ParseWithUnit(text, kSizeUnits, kSizeForm, "bytes");
}

Result<int64_t> ParseDuration(std::string_view text) {
  return ParseWithUnit(text, kDurationUnits, kDurationForm, "nanoseconds");
}

Result<double> ParsePercent(std::string_view text) {
  const std::optional<Decimal> decimal = SplitDecimal(text);
  if (!decimal || decimal->suffix != "%") {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("cannot read \"{}\": a percentage is a number and %, such as \"5%\"", text));
  }
  // Read as a decimal with its exponent shifted, so that "5%" is exactly the double 0.05.
  const std::string shifted = fmt::format("{}.{}e-2", decimal->whole, decimal->fraction);
  double fraction = 0;
  const auto [end, error] =
      std::from_chars(shifted.data(), shifted.data() + shifted.size(), fraction);
  if (error != std::errc() || !std::isfinite(fraction)) {
    return Fail(ErrorKind::kUsage, fmt::format("\"{}\" is out of range", text));
  }
  return fraction;
}

std::string FormatSize(int64_t bytes) { return FormatWithUnit(bytes, kSizeUnits, "0B"); }

std::string FormatDuration(int64_t ns) { return FormatWithUnit(ns, kDurationUnits, "0s"); }

std::string FormatPercent(double fraction) {
  CHECK(std::isfinite(fraction) && fraction >= 0);
  if (fraction == 0) return "0%";
  // The shortest digits that read back to the same double, then the point moved by two places.
  std::array<char, 64> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), fraction,
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  const size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  const char* exponent_text = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent_text, text.data() + text.size(), exponent);
  const int point = exponent + 3;  // digits before the decimal point
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits + "%";
  const auto whole = static_cast<size_t>(point);
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + "%";
  return digits.substr(0, whole) + "." + digits.substr(whole) + "%";
}

std::string HumanDuration(double ns) {
  static constexpr HumanUnit kUnits[] = {{" ns", 1}, {" us", 1e3}, {" ms", 1e6}, {" s", 1e9}};
  return Human(ns, kUnits);
}

std::string HumanCount(double value) {
  static constexpr HumanUnit kUnits[] = {{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
  if (!std::isfinite(value)) return "-";
  if (std::fabs(value) < 9999.5) return Significant(value);
  return Human(value, kUnits);
}

std::string HumanBytesPerSecond(double bytes_per_second) {
  static constexpr HumanUnit kUnits[] = {
      {" B/s", 1}, {" KiB/s", 0x1p10}, {" MiB/s", 0x1p20}, {" GiB/s", 0x1p30}, {" TiB/s", 0x1p40}};
  return Human(bytes_per_second, kUnits);
}

}  // namespace blkfair
