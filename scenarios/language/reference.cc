#include "scenarios/language/reference.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "scenarios/language/decode.h"
#include "scenarios/language/format_value.h"
#include "scenarios/language/keys.h"

namespace blkfair {

namespace {

std::string_view ReferentName(ParamRef refers) {
  switch (refers) {
    case ParamRef::kNone:
      return "text";
    case ParamRef::kJob:
      return "job";
    case ParamRef::kQueue:
      return "queue";
    case ParamRef::kJobOrQueue:
      return "job or queue";
    case ParamRef::kPhase:
      return "phase";
  }
  CHECK(false);
}

std::string_view TypeName(const ParamSpec& spec) {
  switch (spec.type) {
    case ParamType::kBool:
      return "true or false";
    case ParamType::kInt:
      return "whole number";
    case ParamType::kNumber:
      return "number";
    case ParamType::kSize:
      return "size";
    case ParamType::kDuration:
      return "duration";
    case ParamType::kPercent:
      return "percentage";
    case ParamType::kString:
      return ReferentName(spec.refers);
    case ParamType::kChoice:
      return "choice";
    case ParamType::kMetricValue:
      return "metric value";
    case ParamType::kTable:
      return "table";
  }
  CHECK(false);
}

std::string ShapedTypeName(const ParamSpec& spec) {
  const std::string_view type = TypeName(spec);
  switch (spec.shape) {
    case ParamShape::kOne:
      return std::string(type);
    case ParamShape::kList:
      return fmt::format("list: {}", type);
    case ParamShape::kOneOrList:
      return fmt::format("{}, or a list", type);
  }
  CHECK(false);
}

std::string DefaultText(const ParamSpec& spec) {
  if (spec.required) return "required";
  const std::optional<ParamValue> value =
      spec.default_text.empty() ? std::nullopt : DecodeDefault(spec);
  return value ? fmt::format("`{}`", FormatValue(spec, *value)) : "-";
}

std::string Allowed(const ParamSpec& spec) {
  std::string out;
  for (const std::string& choice : Choices(spec)) {
    if (!out.empty()) out += ", ";
    out += fmt::format("`{}`", choice);
  }
  const bool has_min = std::isfinite(spec.min);
  const bool has_max = std::isfinite(spec.max);
  if (has_min && has_max) {
    out += fmt::format("{} to {}", FormatBound(spec, spec.min), FormatBound(spec, spec.max));
  } else if (has_min) {
    out += "from " + FormatBound(spec, spec.min);
  } else if (has_max) {
    out += "up to " + FormatBound(spec, spec.max);
  }
  return out;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void AppendKeys(std::span<const ParamSpec> specs, std::string* out) {
  if (specs.empty()) {
    *out += "\nNo keys of its own.\n";
    return;
  }
  *out += "\n| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const ParamSpec& spec : specs) {
    *out += fmt::format("| `{}` | {} | {} | {} | {} |\n", spec.name, ShapedTypeName(spec),
                        Escaped(DefaultText(spec)), Allowed(spec), Escaped(spec.help));
  }
}

void AppendParts(std::string_view what, std::span<const PartInfo> parts, std::string* out) {
  for (const PartInfo& part : parts) {
    *out += fmt::format("\n#### {} `{}`\n\n{}.{}\n", what, part.name, part.help,
                        part.synchronous ? " Synchronous: `iodepth` must be 1." : "");
    AppendKeys(part.params, out);
  }
}

}  // namespace

std::string KeyReferenceMarkdown(const Catalog& catalog) {
  std::string out =
      "## Key reference\n"
      "\n"
      "Values with a dimension are texts with a unit: a size `\"128KiB\"` (B, KiB, MiB, GiB, TiB, "
      "kB, MB, GB, TB),\n"
      "a duration `\"50ms\"` (ns, us, ms, s, min, h), a percentage `\"5%\"`. A metric value is a "
      "bare number for a count\n"
      "or a ratio, else a duration, size or percentage. A queue is named `\"FIXTURE:INDEX\"`.\n"
      "\n"
      "### Top of the file\n";
  AppendKeys(ScenarioKeys(), &out);
  out += "\n### `[guest]`\n";
  AppendKeys(GuestKeys(), &out);
  out += "\n### `[[fixture]]`\n";
  AppendKeys(FixtureKeys(), &out);
  AppendParts("Fixture", catalog.fixtures, &out);
  out += "\n### `[[job]]`\n";
  AppendKeys(JobKeys(), &out);
  AppendParts("Engine", catalog.engines, &out);
  out += "\n### `[[phase]]`\n";
  AppendKeys(PhaseKeys(), &out);
  out += "\n### `[[assert]]`\n";
  AppendKeys(AssertKeys(), &out);
  AppendParts("Assertion", catalog.assertions, &out);
  out +=
      "\n### `[[compare]]`\n\nWhat `blkfair ab` and `blkfair compare` decide by; every other "
      "figure only describes.\n";
  AppendKeys(catalog.comparison, &out);
  out +=
      "\n### `[[axis]]`\n\nThe grid of `blkfair matrix`, unless it is given another one; no other "
      "command looks at it.\n";
  AppendKeys(AxisKeys(), &out);
  return out;
}

}  // namespace blkfair
