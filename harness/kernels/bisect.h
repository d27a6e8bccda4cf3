// What one step of a bisection says of a commit, in the exit codes that `git bisect run` reads
// (git-bisect(1)): 0 good, 1 to 127 bad but 125 skip, from 128 on it stops. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "results/compare/comparison.h"
#include "results/fairness/judge.h"

namespace blkfair {

inline constexpr int kBisectGood = 0;
inline constexpr int kBisectBad = 1;
inline constexpr int kBisectSkip = 125;
inline constexpr int kBisectUsage = 128;        // what was asked makes no sense: stop
inline constexpr int kBisectError = 129;        // this machine cannot do it: stop
inline constexpr int kBisectInterrupted = 130;  // stop

struct BisectAnswer {
  int exit_code = kBisectSkip;
  std::string why;  // one sentence
};

// "good", "bad", "skip", "stop".
std::string_view BisectWord(int exit_code);

// By the scenario's own assertions. `records`: those that were judged.
BisectAnswer AnswerByVerdict(const Judgement& judgement, std::span<const Record> records);
// By comparison with a good kernel. `records`: those of the kernel in question.
BisectAnswer AnswerByComparison(const Comparison& comparison, std::span<const Record> records);

}  // namespace blkfair
