#include "scenarios/language/catalog.h"

#include <algorithm>

namespace blkfair {

const PartInfo* FindPart(std::span<const PartInfo> parts, std::string_view name) {
  const auto it = std::find_if(parts.begin(), parts.end(),
                               [&](const PartInfo& part) { return part.name == name; });
  return it == parts.end() ? nullptr : &*it;
}

const ParamSpec* FindSpec(std::span<const ParamSpec> specs, std::string_view name) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const ParamSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

}  // namespace blkfair
