// Decodes the nodes of one TOML table by a parameter table: types, units, bounds, defaults,
// required and unknown keys. Internal to scenarios/language. Pure functions; any thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "scenarios/language/document.h"
#include "scenarios/language/problems.h"

namespace blkfair {

// The values of `specs` in `table`, which must be a table, with every default filled in. Keys that
// are absent or wrong and have no default are left out; each wrong or missing one is a problem.
ParamValues DecodeTable(const Node& table, std::span<const ParamSpec> specs, Problems* problems);

// One problem for each key of `table` that is in none of `known`. `where` is what the user calls
// the table: "[[job]]".
void ReportUnknownKeys(const Node& table, std::string_view where,
                       std::initializer_list<std::span<const ParamSpec>> known, Problems* problems);

// `default_text` of a spec as a value; empty when it is not one (an error of the table's author).
std::optional<ParamValue> DecodeDefault(const ParamSpec& spec);

std::vector<std::string> Choices(const ParamSpec& spec);

}  // namespace blkfair
