// The style rules of the tree. Each is a pure function from files to findings, so that each can be
// shown to find something (rules_test.cc) before it is let loose on the tree (tree_test.cc). Rules
// that look at several files (a part and its table) see them all at once; the others go file by
// file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/source_text.h"

namespace blkfair::style {

struct Finding {
  std::string path;
  size_t line = 0;      // 0: the file as a whole
  std::string message;  // what is wrong, and what to do instead
  std::string ToString() const;
};

using Findings = std::vector<Finding>;
using Files = std::span<const SourceFile>;

// include_rules.cc
Findings IncludeArrows(Files files);
Findings ThirdPartyHeaders(Files files);

// text_rules.cc
Findings KernelPaths(Files files);
Findings BannedWords(Files files);
Findings HeaderOpening(Files files);
Findings FileLength(Files files);
Findings LineLength(Files files);
Findings OpenEnds(Files files);
Findings WorkplaceNames(Files files);
Findings TestNames(Files files);

// case_rules.cc
Findings CasesHaveTests(Files files);

// part_rules.cc
Findings PartsInTables(Files files);
Findings ScenarioOpening(Files files);
Findings HotPath(Files files);

struct Rule {
  std::string_view name;  // also the name of its test
  Findings (*check)(Files);
};

inline constexpr Rule kRules[] = {
    {"IncludeArrows", IncludeArrows},
    {"ThirdPartyHeaders", ThirdPartyHeaders},
    {"KernelPaths", KernelPaths},
    {"BannedWords", BannedWords},
    {"HeaderOpening", HeaderOpening},
    {"FileLength", FileLength},
    {"LineLength", LineLength},
    {"OpenEnds", OpenEnds},
    {"WorkplaceNames", WorkplaceNames},
    {"TestNames", TestNames},
    {"CasesHaveTests", CasesHaveTests},
    {"PartsInTables", PartsInTables},
    {"ScenarioOpening", ScenarioOpening},
    {"HotPath", HotPath},
};

}  // namespace blkfair::style
