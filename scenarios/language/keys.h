// The keys of the scenario language itself, as parameter tables: one mechanism validates, prints
// and documents them and those of the parts. Internal to scenarios/language.
#pragma once

#include <span>
#include <string_view>

#include "base/params.h"

namespace blkfair {

std::span<const ParamSpec> ScenarioKeys();  // at the top of the file
std::span<const ParamSpec> GuestKeys();
std::span<const ParamSpec> FixtureKeys();  // of every fixture, beside those of its kind
std::span<const ParamSpec> JobKeys();      // of every job, beside those of its engine
std::span<const ParamSpec> PhaseKeys();
std::span<const ParamSpec> AssertKeys();  // of every assertion, beside those of its kind
std::span<const ParamSpec> AxisKeys();    // of every axis

inline constexpr std::string_view kSimName =
    "sim";  // the fixture and the engine of virtual devices
inline constexpr std::string_view kDefaultEngine = "io_uring";
inline constexpr std::string_view kSoloPrefix = "solo_";  // of the phases that `solo` makes

}  // namespace blkfair
