// `set` and `sweep` of phases, on the tree: which keys of jobs differ in a phase, one phase for
// each step of a sweep, and assertions that name a sweep. Internal to scenarios/language.
#pragma once

#include <string_view>

#include "scenarios/language/document.h"
#include "scenarios/language/problems.h"

namespace blkfair {

// Afterwards no phase has a `sweep`; `set`, where there is one, is a table with keys of the form
// "job.NAME.KEY", of jobs of that phase; no assertion names a sweep. `root` is as ExpandScenario
// leaves it. A phase with a fault in one of the two keys stands there without it.
void ExpandSweeps(Node* root, Problems* problems);

// A key of one job, as "job.NAME.KEY" says it.
struct SettingPath {
  std::string_view job;
  std::string_view key;
};
SettingPath SplitSettingPath(std::string_view path);

}  // namespace blkfair
