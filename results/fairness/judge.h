// Judges Records: every assertion of the scenario in each of its phases, the gates that stand
// before all of them (no contention, errors, a clock suspect), and the exit code. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/fairness/assertion.h"

namespace blkfair {

struct Judgement {
  std::vector<Verdict> verdicts;      // in the scenario's order
  std::vector<std::string> warnings;  // Little's law, achieved depth, engines not comparable, ...
  bool partial = false;               // a record was cut short
  int exit_code = 4;                  // design section 5
  Outcome outcome = Outcome::kInconclusive;
};

// The outcome of a run as a word: "pass", "fail", "error", "inconclusive", and beyond verdicts
// "skip" (exit code 77), "interrupted" (130) and "refused" (2).
std::string_view RunOutcomeWord(const Judgement& judgement);

// `records`: at least one, all of `scenario`. A record that is not complete makes errors (died,
// error), skips (unmet) or partial judgements (interrupted).
Judgement Judge(const Scenario& scenario, std::span<const Record> records);

// Of several runs: 2 > 3 > 1 > 4 > 0; 77 only if all were skipped; nothing judged is 4.
int CombineExitCodes(std::span<const int> codes);

}  // namespace blkfair
