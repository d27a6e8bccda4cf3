// The canonical form: the scenario as TOML with every default filled in and every shorthand
// expanded, in a fixed order. It reads back to the same scenario, and its hash is the identity of
// the scenario in records.
#pragma once

#include <string>

#include "scenarios/language/catalog.h"
#include "scenarios/language/model.h"

namespace blkfair {

std::string CanonicalToml(const Scenario& scenario, const Catalog& catalog);

// SHA-256 of the canonical text, lower-case hex.
std::string ScenarioHash(const std::string& canonical_toml);

}  // namespace blkfair
