// The key reference: every table of the scenario language and of the catalog's parts, generated
// from the same parameter tables that check scenarios.
#pragma once

#include <string>

#include "scenarios/language/catalog.h"

namespace blkfair {

// Markdown, beginning with a second-level heading: a section of scenarios/README.md.
std::string KeyReferenceMarkdown(const Catalog& catalog);

}  // namespace blkfair
