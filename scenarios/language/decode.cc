#include "scenarios/language/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <variant>

#include "base/check.h"
#include "base/units.h"
#include "scenarios/language/format_value.h"

namespace blkfair {

namespace {

using Scalar = std::variant<bool, int64_t, double, std::string, MetricValue>;
using ScalarOrProblem = tl::expected<Scalar, std::string>;

// Beyond this a double does not hold every whole number.
constexpr int64_t kExactMax = int64_t{1} << 53;

tl::unexpected<std::string> Wrong(std::string message) {
  return tl::unexpected<std::string>(std::move(message));
}

tl::unexpected<std::string> WrongKind(const ParamSpec& spec, std::string_view expected,
                                      const Node& node) {
  const std::string given = node.IsString() ? Quote(node.text) : std::string(KindName(node.kind));
  return Wrong(fmt::format("{} must be {}, not {}", spec.name, expected, given));
}

template <typename T>
std::optional<T> ReadAll(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

ScalarOrProblem DecodeBool(const ParamSpec& spec, const Node& node) {
  if (node.kind == Node::Kind::kBool) return node.boolean;
  if (node.IsString() && (node.text == "true" || node.text == "false")) {
    return Wrong(fmt::format("{} is true or false: write {} without quotes", spec.name, node.text));
  }
  return WrongKind(spec, "true or false", node);
}

// A whole number that an int64_t does not hold; TOML has no such numbers, so it comes as a text.
bool IsHugeInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc::result_out_of_range && end == text.data() + text.size();
}

ScalarOrProblem DecodeInt(const ParamSpec& spec, const Node& node) {
  if (node.kind == Node::Kind::kInt) return node.integer;
  if (node.IsString() && IsHugeInt(node.text)) {
    return Wrong(fmt::format("{}: {} is too large for 64 bits", spec.name, Quote(node.text)));
  }
  if (node.IsString() && ReadAll<int64_t>(node.text)) {
    return Wrong(
        fmt::format("{} is a whole number: write {} without quotes", spec.name, node.text));
  }
  return WrongKind(spec, "a whole number", node);
}

std::optional<double> NumberOf(const Node& node) {
  if (node.kind == Node::Kind::kInt) return static_cast<double>(node.integer);
  if (node.kind == Node::Kind::kFloat) return node.real;
  return std::nullopt;
}

ScalarOrProblem DecodeNumber(const ParamSpec& spec, const Node& node) {
  const std::optional<double> number = NumberOf(node);
  if (!number) {
    if (node.IsString() && ReadAll<double>(node.text)) {
      return Wrong(fmt::format("{} is a number: write {} without quotes", spec.name, node.text));
    }
    if (const auto fraction = ParsePercent(node.text); node.IsString() && fraction) {
      return Wrong(fmt::format("{} is a number, not a percentage: write {}", spec.name, *fraction));
    }
    return WrongKind(spec, "a number", node);
  }
  if (!std::isfinite(*number)) return Wrong(fmt::format("{} must be a finite number", spec.name));
  return *number + 0.0;  // no negative zero
}

// The error of a parser of units quotes the text, which may be a whole novel here.
tl::unexpected<std::string> WrongUnit(const ParamSpec& spec, const Node& node, const Error& error) {
  constexpr size_t kQuotedBytesMax = 60;
  if (node.text.size() <= kQuotedBytesMax) {
    return Wrong(fmt::format("{}: {}", spec.name, error.message));
  }
  return Wrong(fmt::format("{}: cannot read {}", spec.name, Quote(node.text)));
}

ScalarOrProblem DecodeSize(const ParamSpec& spec, const Node& node) {
  if (node.kind == Node::Kind::kInt && node.integer >= 0) {
    return Wrong(
        fmt::format("{} needs its unit: write \"{}\"", spec.name, FormatSize(node.integer)));
  }
  if (NumberOf(node)) return Wrong(fmt::format("{} needs its unit, as in \"4KiB\"", spec.name));
  if (!node.IsString()) return WrongKind(spec, "a size such as \"128KiB\"", node);
  const Result<int64_t> bytes = ParseSize(node.text);
  if (!bytes) return WrongUnit(spec, node, bytes.error());
  return *bytes;
}

ScalarOrProblem DecodeDuration(const ParamSpec& spec, const Node& node) {
  if (node.kind == Node::Kind::kInt && node.integer >= 0) {
    return Wrong(fmt::format("{0} needs its unit: write \"{1}s\", \"{1}ms\" or \"{1}us\"",
                             spec.name, node.integer));
  }
  if (NumberOf(node)) return Wrong(fmt::format("{} needs its unit, as in \"50ms\"", spec.name));
  if (!node.IsString()) return WrongKind(spec, "a duration such as \"50ms\"", node);
  const Result<int64_t> ns = ParseDuration(node.text);
  if (!ns) return WrongUnit(spec, node, ns.error());
  return *ns;
}

ScalarOrProblem DecodePercent(const ParamSpec& spec, const Node& node) {
  if (node.kind == Node::Kind::kInt && node.integer >= 0) {
    return Wrong(fmt::format("{} needs its unit: write \"{}%\"", spec.name, node.integer));
  }
  if (node.kind == Node::Kind::kFloat && std::isfinite(node.real) && node.real >= 0) {
    return Wrong(
        fmt::format("{} needs its unit: write \"{}\"", spec.name, FormatPercent(node.real)));
  }
  if (!node.IsString()) return WrongKind(spec, "a percentage such as \"5%\"", node);
  const Result<double> fraction = ParsePercent(node.text);
  if (!fraction) return WrongUnit(spec, node, fraction.error());
  return *fraction;
}

ScalarOrProblem DecodeString(const ParamSpec& spec, const Node& node) {
  if (!node.IsString()) {
    return Wrong(
        fmt::format("{} must be a text in quotes, not {}", spec.name, KindName(node.kind)));
  }
  for (const char c : node.text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      return Wrong(fmt::format("{} holds a control character: take it out", spec.name));
    }
  }
  return node.text;
}

ScalarOrProblem DecodeChoice(const ParamSpec& spec, const Node& node) {
  const std::vector<std::string> choices = Choices(spec);
  if (!node.IsString()) {
    return WrongKind(spec, fmt::format("a text in quotes, one of {}", Listing(choices)), node);
  }
  for (const std::string& choice : choices) {
    if (node.text == choice) return node.text;
  }
  return Wrong(fmt::format("{}: unknown value {}{}", spec.name, Quote(node.text),
                           Suggestion(node.text, choices, "choices")));
}

// Time and bytes are kept as doubles, so they must be small enough to be exact.
ScalarOrProblem Metric(const ParamSpec& spec, int64_t value, MetricValue::Unit unit) {
  if (value > kExactMax) return Wrong(fmt::format("{} is too large", spec.name));
  return MetricValue{static_cast<double>(value), unit};
}

ScalarOrProblem DecodeMetric(const ParamSpec& spec, const Node& node) {
  if (const std::optional<double> number = NumberOf(node)) {
    if (!std::isfinite(*number)) return Wrong(fmt::format("{} must be a finite number", spec.name));
    return MetricValue{*number + 0.0, MetricValue::Unit::kNone};
  }
  constexpr std::string_view kForms =
      "a number, or a text with a unit such as \"5ms\", \"1MiB\" or \"5%\"";
  if (!node.IsString()) return WrongKind(spec, kForms, node);
  if (const auto ns = ParseDuration(node.text)) {
    return Metric(spec, *ns, MetricValue::Unit::kNanoseconds);
  }
  if (const auto bytes = ParseSize(node.text)) {
    return Metric(spec, *bytes, MetricValue::Unit::kBytes);
  }
  if (const auto fraction = ParsePercent(node.text)) {
    return MetricValue{*fraction, MetricValue::Unit::kFraction};
  }
  if (ReadAll<double>(node.text)) {
    return Wrong(fmt::format("{}: write {} without quotes, or with its unit, as in \"5ms\"",
                             spec.name, Quote(node.text)));
  }
  return Wrong(fmt::format("{}: cannot read {}: write {}", spec.name, Quote(node.text), kForms));
}

ScalarOrProblem DecodeKind(const ParamSpec& spec, const Node& node) {
  switch (spec.type) {
    case ParamType::kBool:
      return DecodeBool(spec, node);
    case ParamType::kInt:
      return DecodeInt(spec, node);
    case ParamType::kNumber:
      return DecodeNumber(spec, node);
    case ParamType::kSize:
      return DecodeSize(spec, node);
    case ParamType::kDuration:
      return DecodeDuration(spec, node);
    case ParamType::kPercent:
      return DecodePercent(spec, node);
    case ParamType::kString:
      return DecodeString(spec, node);
    case ParamType::kChoice:
      return DecodeChoice(spec, node);
    case ParamType::kMetricValue:
      return DecodeMetric(spec, node);
    case ParamType::kTable:
      break;
  }
  CHECK(false);
}

std::optional<double> MagnitudeOf(const Scalar& scalar) {
  if (const auto* integer = std::get_if<int64_t>(&scalar)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&scalar)) return *number;
  if (const auto* metric = std::get_if<MetricValue>(&scalar)) return metric->value;
  return std::nullopt;
}

// As the user wrote it.
std::string Written(const Node& node) {
  if (node.IsString()) return Quote(node.text);
  if (node.kind == Node::Kind::kInt) return fmt::format("{}", node.integer);
  return fmt::format("{}", node.real);
}

ScalarOrProblem DecodeScalar(const ParamSpec& spec, const Node& node) {
  if (node.IsArray()) {
    return Wrong(fmt::format("{} takes a single value here, not a list", spec.name));
  }
  ScalarOrProblem scalar = DecodeKind(spec, node);
  if (!scalar) return scalar;
  const std::optional<double> magnitude = MagnitudeOf(*scalar);
  if (magnitude && (*magnitude < spec.min || *magnitude > spec.max)) {
    return Wrong(fmt::format("{} must be {}, not {}", spec.name, BoundsText(spec), Written(node)));
  }
  return scalar;
}

template <typename T>
ParamValue ListOf(std::vector<Scalar> scalars) {
  std::vector<T> out;
  for (Scalar& scalar : scalars) out.push_back(std::move(std::get<T>(scalar)));
  return out;
}

ParamValue MakeList(const ParamSpec& spec, std::vector<Scalar> scalars) {
  switch (spec.type) {
    case ParamType::kInt:
    case ParamType::kSize:
    case ParamType::kDuration:
      return ListOf<int64_t>(std::move(scalars));
    case ParamType::kNumber:
    case ParamType::kPercent:
      return ListOf<double>(std::move(scalars));
    case ParamType::kString:
    case ParamType::kChoice:
      return ListOf<std::string>(std::move(scalars));
    case ParamType::kBool:
    case ParamType::kMetricValue:
    case ParamType::kTable:
      break;  // ParamValue has no list of these
  }
  CHECK(false);
}

std::optional<ParamValue> DecodeValue(const ParamSpec& spec, const Node& node, Problems* problems) {
  if (spec.shape == ParamShape::kOne) {
    ScalarOrProblem scalar = DecodeScalar(spec, node);
    if (scalar) {
      return std::visit([](auto& value) { return ParamValue(std::move(value)); }, *scalar);
    }
    problems->Add(node.place, scalar.error());
    return std::nullopt;
  }
  if (spec.shape == ParamShape::kList && !node.IsArray()) {
    const std::string example = node.IsString() || NumberOf(node) ? Written(node) : "...";
    problems->Add(node.place, fmt::format("{} takes a list: write [{}]", spec.name, example));
    return std::nullopt;
  }
  const std::span<const Node> items =
      node.IsArray() ? std::span<const Node>(node.items) : std::span<const Node>(&node, 1);
  if (items.empty()) {
    problems->Add(node.place, fmt::format("{} must not be empty", spec.name));
    return std::nullopt;
  }
  std::vector<Scalar> scalars;
  for (const Node& item : items) {
    ScalarOrProblem scalar = DecodeScalar(spec, item);
    if (scalar) {
      scalars.push_back(std::move(*scalar));
    } else {
      problems->Add(item.place, scalar.error());
    }
  }
  if (scalars.size() != items.size()) return std::nullopt;
  return MakeList(spec, std::move(scalars));
}

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    out.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// An unquoted default as the node that it would be in a scenario.
Node NodeOfDefault(ParamType type, const std::string& text) {
  Node node = Node::Text(text, {});
  switch (type) {
    case ParamType::kBool:
      if (text == "true" || text == "false") {
        node.kind = Node::Kind::kBool;
        node.boolean = text == "true";
      }
      break;
    case ParamType::kInt:
      if (const auto integer = ReadAll<int64_t>(text)) {
        node.kind = Node::Kind::kInt;
        node.integer = *integer;
      }
      break;
    case ParamType::kNumber:
    case ParamType::kMetricValue:
      if (const auto number = ReadAll<double>(text)) {
        node.kind = Node::Kind::kFloat;
        node.real = *number;
      }
      break;
    default:
      break;
  }
  return node;
}

}  // namespace

ParamValues DecodeTable(const Node& table, std::span<const ParamSpec> specs, Problems* problems) {
  CHECK(table.IsTable());
  ParamValues values;
  for (const ParamSpec& spec : specs) {
    if (spec.type == ParamType::kTable) continue;
    std::optional<ParamValue> value;
    if (const NodeEntry* entry = table.Find(spec.name)) {
      value = DecodeValue(spec, entry->value, problems);
    } else if (spec.required) {
      problems->Add(table.place, fmt::format("{} is missing ({})", spec.name, spec.help));
    }
    if (!value && !spec.default_text.empty()) {
      value = DecodeDefault(spec);
      CHECK(value.has_value());
    }
    if (value) values.Set(spec.name, std::move(*value));
  }
  return values;
}

void ReportUnknownKeys(const Node& table, std::string_view where,
                       std::initializer_list<std::span<const ParamSpec>> known,
                       Problems* problems) {
  std::vector<std::string> names;
  for (const std::span<const ParamSpec> specs : known) {
    for (const ParamSpec& spec : specs) names.emplace_back(spec.name);
  }
  for (const NodeEntry& entry : table.entries) {
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    problems->Add(entry.place, fmt::format("unknown key {} in {}{}", Quote(entry.key), where,
                                           Suggestion(entry.key, names, "its keys")));
  }
}

std::optional<ParamValue> DecodeDefault(const ParamSpec& spec) {
  Node node;
  if (spec.shape == ParamShape::kOne) {
    node = NodeOfDefault(spec.type, std::string(spec.default_text));
  } else {
    node.kind = Node::Kind::kArray;
    for (const std::string& part : SplitAt(spec.default_text, ',')) {
      node.items.push_back(NodeOfDefault(spec.type, part));
    }
  }
  const std::string no_file;
  const std::vector<Override> no_overrides;
  Problems ignored(no_file, no_overrides);
  return DecodeValue(spec, node, &ignored);
}

std::vector<std::string> Choices(const ParamSpec& spec) { return SplitAt(spec.choices, '|'); }

}  // namespace blkfair
