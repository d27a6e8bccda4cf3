// Values of parameters as they stand in a scenario. Internal to scenarios/language.
#pragma once

#include <string>

#include "base/params.h"

namespace blkfair {

// The shortest exact form, which reads back to the same value: `"128KiB"`, `[1, 2]`, `true`.
std::string FormatValue(const ParamSpec& spec, const ParamValue& value);

// A bound of the spec, for people: 4KiB, 10s, 64.
std::string FormatBound(const ParamSpec& spec, double bound);

// "between 1 and 64", "above 0 and at most 1GiB": what its bounds allow.
std::string BoundsText(const ParamSpec& spec);

}  // namespace blkfair
