#include <fmt/format.h>

#include <set>

#include "scenarios/language/catalog.h"
#include "scenarios/language/decode.h"
#include "scenarios/language/expand.h"
#include "scenarios/language/keys.h"

namespace blkfair {

namespace {

std::string FaultOf(const ParamSpec& spec) {
  const bool has_default = !spec.default_text.empty();
  if (!IsName(spec.name)) return "is no name for a key";
  if (spec.help.empty()) return "lacks its help";
  if (spec.type == ParamType::kTable) return "is a table, which parts cannot have";
  if (spec.required && has_default) return "is required, but has a default";
  if ((spec.type == ParamType::kChoice) == spec.choices.empty()) {
    return "must have choices if, and only if, it is a choice";
  }
  if (spec.shape != ParamShape::kOne &&
      (spec.type == ParamType::kBool || spec.type == ParamType::kMetricValue)) {
    return "is a list of a type that has no lists";
  }
  if (spec.refers != ParamRef::kNone && spec.type != ParamType::kString) {
    return "refers to something, but is no text";
  }
  if (has_default && !DecodeDefault(spec)) return "has a default that does not fit it";
  return "";
}

void AppendFaults(std::string_view what, std::span<const PartInfo> parts,
                  std::span<const ParamSpec> language_keys, std::vector<std::string>* faults) {
  std::set<std::string_view> parts_seen;
  for (const PartInfo& part : parts) {
    if (!IsName(part.name)) faults->push_back(fmt::format("{} {}: no name", what, part.name));
    if (part.help.empty()) faults->push_back(fmt::format("{} {}: lacks its help", what, part.name));
    if (!parts_seen.insert(part.name).second) {
      faults->push_back(fmt::format("{} {}: stands twice", what, part.name));
    }
    if ((part.queue_count != nullptr) != (FindSpec(part.params, part.queue_key) != nullptr)) {
      faults->push_back(
          fmt::format("{} {}: lacks the key that counts its queues", what, part.name));
    }
    std::set<std::string_view> keys_seen;
    for (const ParamSpec& spec : language_keys) keys_seen.insert(spec.name);
    for (const ParamSpec& spec : part.params) {
      std::string fault = FaultOf(spec);
      if (!keys_seen.insert(spec.name).second) fault = "stands twice, or hides a common key";
      if (fault.empty()) continue;
      faults->push_back(fmt::format("{} {}: {} {}", what, part.name, spec.name, fault));
    }
  }
}

}  // namespace

std::vector<std::string> CatalogFaults(const Catalog& catalog) {
  std::vector<std::string> faults;
  AppendFaults("engine", catalog.engines, JobKeys(), &faults);
  AppendFaults("fixture", catalog.fixtures, FixtureKeys(), &faults);
  AppendFaults("assertion", catalog.assertions, AssertKeys(), &faults);
  return faults;
}

}  // namespace blkfair
