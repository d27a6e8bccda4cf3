// Assertions: rules over the Records of one scenario. Pure functions of (scenario, assertion,
// records); they need no kernel, no root and no clock. Nothing passes by default.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"
#include "scenarios/language/catalog.h"
#include "scenarios/language/model.h"

namespace blkfair {

enum class Outcome : uint8_t { kPass, kFail, kError, kInconclusive };
std::string_view OutcomeName(Outcome outcome);  // "pass", "fail", "error", "inconclusive"

// The judgement of one assertion in one phase.
struct Verdict {
  std::string assertion;  // name in the scenario
  std::string kind;
  std::string phase;
  std::string what;  // "light iops, solo / contention", "heavy's share of 64 tags"
  Outcome outcome = Outcome::kInconclusive;
  std::string observed;  // with its unit: "0.50", "1.46 ms"; "-" when absent
  std::string bound;     // "<= 1.3", "0.48 .. 0.52"
  std::string why;       // one sentence: the numbers behind it, or what would settle it
  std::optional<double> observed_value;  // in base units, for JSON
  // Over repeats: how many there are, and the interval that holds the quantity.
  size_t n = 0;
  std::optional<double> low;
  std::optional<double> high;
};

// What an assertion is asked to judge: one phase, over all records of the same canonical scenario
// (one record: n = 1, spread unknown).
struct JudgeInput {
  const Scenario* scenario = nullptr;
  const AssertSpec* spec = nullptr;
  std::string phase;
  std::span<const Record> records;  // at least one; each holds the phase
};

// What is wrong with an assertion in its scenario, seen as a whole: a job that has no part in the
// phase, a slowdown without a solo phase, completion latencies compared across engines.
// One sentence each, without the assertion's name. The scenario reader asks it (see Catalog).
std::vector<std::string> AssertionProblems(const Scenario& scenario, const AssertSpec& spec);

// A row of the assertion table. Adding an assertion: a file <name>_assertion.cc that defines
// k<Name>AssertionInfo, and a line in assertion_table.cc.
struct AssertionInfo {
  std::string_view name;
  std::string_view help;
  std::span<const ParamSpec> params;
  std::optional<std::string> (*check)(const ParamValues&);  // see PartInfo::check
  // One verdict per thing judged (per queue for `share`, one for `ratio`), at least one.
  std::vector<Verdict> (*evaluate)(const JudgeInput&);
};

std::span<const AssertionInfo* const> AllAssertions();
const AssertionInfo* FindAssertion(std::string_view name);

}  // namespace blkfair
