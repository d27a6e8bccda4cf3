// The scenario that the tests of the scenario language start from, and edits to it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/reader.h"
#include "tests/support/fake_catalog.h"

namespace blkfair {

inline constexpr std::string_view kPlainScenario = R"(name = "plain"
situation = "two queues, one tag set"
expectation = "half each"
why = "it is fair"

[[fixture]]
name = "pair"
kind = "null_blk"
service_time = ["100ms", "1ms"]

[[fixture]]
name = "virtual"
kind = "sim"

[[job]]
name = "heavy"
queue = "pair:0"
iodepth = 256

[[job]]
name = "light"
queue = "pair:1"
engine = "psync"

[[phase]]
solo = ["light", "heavy"]
runtime = "4s"

[[phase]]
name = "contention"
jobs = ["heavy", "light"]
runtime = "6s"

[[assert]]
kind = "share"
phase = "contention"
max = 0.6

[[assert]]
kind = "slowdown"
phases = ["contention"]
job = "light"
max = 1.5
)";

// `text` with its first `from` replaced by `to`.
inline std::string Edited(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) out.replace(at, from.size(), to);
  return out;
}

// One line for each problem; empty when there is none.
inline std::string ProblemsOf(std::string_view text, const std::vector<Override>& overrides = {}) {
  const auto scenario = ParseScenario(text, "s.toml", FakeCatalog(), overrides);
  std::string lines;
  if (scenario) return lines;
  EXPECT_FALSE(scenario.error().empty());
  for (const Diagnostic& diagnostic : scenario.error()) lines += diagnostic.ToString() + "\n";
  return lines;
}

inline Scenario Parsed(std::string_view text, const std::vector<Override>& overrides = {}) {
  const auto scenario = ParseScenario(text, "s.toml", FakeCatalog(), overrides);
  EXPECT_TRUE(scenario.has_value()) << ProblemsOf(text, overrides);
  return scenario ? *scenario : Scenario();
}

}  // namespace blkfair
