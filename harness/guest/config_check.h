// Whether a kernel can run a scenario, read off its .config before anything is booted. Pure; any
// thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/model.h"

namespace blkfair {

// A .config: symbol without CONFIG_ -> value; what is not set has none.
using KernelConfig = std::map<std::string, std::string, std::less<>>;
KernelConfig ParseKernelConfig(std::string_view text);

struct ConfigNeed {
  std::string symbol;     // without CONFIG_
  bool built_in = false;  // a module comes too late
  std::string reason;     // "the guest's console", "module null_blk"
};

// What a guest needs to run `scenario` at all, and what its fixtures and engines are about.
std::vector<ConfigNeed> ConfigNeedsOf(const Scenario& scenario);
// That of a module, by the name that modprobe knows; empty for one that is not known here.
std::string ConfigSymbolOf(std::string_view module);

// Those of the needs that the config does not meet; a module does where `has_modules`.
std::vector<ConfigNeed> MissingNeeds(const KernelConfig& config,
                                     const std::vector<ConfigNeed>& needs, bool has_modules);
// "CONFIG_BLK_DEV_NULL_BLK=y (module null_blk), CONFIG_..."
std::string ConfigLines(const std::vector<ConfigNeed>& needs);

}  // namespace blkfair
