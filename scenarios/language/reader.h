// Reads scenarios. Strict: every problem of the file is reported, each with its place, and nothing
// else happens. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "scenarios/language/catalog.h"
#include "scenarios/language/model.h"

namespace blkfair {

// One problem: "file:line:col: what is wrong and what to do".
struct Diagnostic {
  std::string file;
  uint32_t line = 0;  // 0: no place (a --set override names itself as `file`)
  uint32_t column = 0;
  std::string message;
  std::string ToString() const;
};

// "job.heavy.iodepth=64", "phase.contention.runtime=2s", "fixture.pair.depth=32", "seed=7",
// "guest.memory=2GiB". The value is TOML, or a bare word that is read as a string.
using Override = std::string;

// `file` is used in messages only.
tl::expected<Scenario, std::vector<Diagnostic>> ParseScenario(
    std::string_view toml_text, const std::string& file, const Catalog& catalog,
    const std::vector<Override>& overrides);
tl::expected<Scenario, std::vector<Diagnostic>> ReadScenarioFile(
    const std::string& path, const Catalog& catalog, const std::vector<Override>& overrides);

}  // namespace blkfair
