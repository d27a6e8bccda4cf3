// Gates: what must hold of a Record before any of its numbers may decide something. A gate that is
// shut turns every pass and fail behind it into an error, or into inconclusive with what would
// settle it. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/fairness/assertion.h"

namespace blkfair {

struct Gate {
  Outcome outcome = Outcome::kInconclusive;  // kError or kInconclusive
  std::string why;
};

// The record as a whole: it died, an error, a requirement unmet, interrupted before the phase, a
// clock that failed its end check.
std::optional<Gate> RecordGate(const Record& record, const std::string& phase);

// One phase, the solo phase that a slowdown refers to as well: workers that left no figures, I/Os
// that never came back, a window cut short, workers that never began or not before it opened,
// errors, a clock that cannot be right, a set that had not settled, a generator that did not keep
// its rate. `errors_are_judged`: the assertion is about errors, so that they shut no gate.
std::optional<Gate> PhaseGate(const Scenario& scenario, const PhaseRecord& phase,
                              bool errors_are_judged = false);

// Evidence of contention, or of none, as the assertion demands (design rule 8), on the tag sets of
// the queues that it is about.
std::optional<Gate> ContentionGate(const Scenario& scenario, const AssertSpec& spec,
                                   const Record& record, const PhaseRecord& phase);

// A rate that is asserted must be the kernel's: shut when a job that the assertion is about, in its
// phase or in one that it is compared with, was bound by its own generator.
std::optional<Gate> GeneratorGate(const Scenario& scenario, const AssertSpec& spec,
                                  const Record& record, const PhaseRecord& phase);

// What a reader should know and what shuts no gate: jobs that did not reach their depth,
// generators short of CPU, tag counters that disagree. As (what it is about, sentence).
std::vector<std::pair<std::string, std::string>> PhaseWarnings(const Scenario& scenario,
                                                               const PhaseRecord& phase);

}  // namespace blkfair
