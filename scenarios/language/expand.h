// What is done to the tree of a scenario before its values are checked: assertions without a name
// get one, `solo` becomes phases, overrides are set. Internal to scenarios/language.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "scenarios/language/document.h"
#include "scenarios/language/problems.h"

namespace blkfair {

// The arrays of tables at the top of a scenario; the first kNamedTableArrays of them have a name.
inline constexpr std::string_view kTableArrays[] = {"fixture", "job",     "phase",
                                                    "assert",  "compare", "axis"};
inline constexpr size_t kNamedTableArrays = 4;
inline constexpr size_t kMaxTables = 2048;  // of one kind: bounds what a hostile file can cost

// Letters, digits, '_' and '-', beginning with a letter or digit; at most 64 of them.
bool IsName(std::string_view text);

// Afterwards each of kTableArrays that `root` has is an array of tables, `guest` is a table, and no
// phase has a `solo` key. Returns false when phases had to be left out.
bool ExpandScenario(Node* root, Problems* problems);

// Sets every override that has a target; the others are problems.
void ApplyOverrides(Node* root, const std::vector<Override>& overrides, Problems* problems);

}  // namespace blkfair
