#include "harness/kernels/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace blkfair {
namespace {

constexpr int kPass = 0;
constexpr int kFail = 1;
constexpr int kUsage = 2;

// What says nothing about the commit, or that it cannot be tested.
std::optional<BisectAnswer> AnswerByOutcome(std::span<const Record> records) {
  for (const Record& record : records) {
    switch (record.outcome) {
      case RunOutcome::kComplete:
        continue;
      case RunOutcome::kInterrupted:
        return BisectAnswer{kBisectInterrupted, "interrupted"};
      case RunOutcome::kError:
        // A guest that came up has told its version: without it the fault is on this side.
        if (record.environment.kernel_version.empty()) {
          return BisectAnswer{kBisectError, record.outcome_why};
        }
        return BisectAnswer{kBisectSkip, record.outcome_why};
      case RunOutcome::kDied:
      case RunOutcome::kUnmet:
        return BisectAnswer{kBisectSkip, record.outcome_why};
    }
  }
  return std::nullopt;
}

int CodeOf(int exit_code) {
  switch (exit_code) {
    case kPass:
      return kBisectGood;
    case kFail:
      return kBisectBad;
    case kUsage:
      return kBisectUsage;
    default:
      return kBisectSkip;
  }
}

// The verdict that the judgement rests on: the first that did not pass, or how many did.
std::string WhyOf(const Judgement& judgement) {
  const auto decides = [&](Outcome outcome) {
    return std::find_if(judgement.verdicts.begin(), judgement.verdicts.end(),
                        [&](const Verdict& verdict) { return verdict.outcome == outcome; });
  };
  for (const Outcome outcome : {Outcome::kError, Outcome::kFail, Outcome::kInconclusive}) {
    const auto verdict = decides(outcome);
    if (verdict == judgement.verdicts.end()) continue;
    return fmt::format("{} {}: {} is {}, and should be {}", verdict->assertion,
                       OutcomeName(outcome), verdict->what, verdict->observed, verdict->bound);
  }
  if (judgement.verdicts.empty()) return "nothing was judged";
  return fmt::format("{} pass", judgement.verdicts.size());
}

}  // namespace

std::string_view BisectWord(int exit_code) {
  if (exit_code == kBisectGood) return "good";
  if (exit_code == kBisectSkip) return "skip";
  return exit_code < kBisectUsage ? "bad" : "stop";
}

BisectAnswer AnswerByVerdict(const Judgement& judgement, std::span<const Record> records) {
  if (auto answer = AnswerByOutcome(records)) return *answer;
  return {CodeOf(judgement.exit_code), WhyOf(judgement)};
}

BisectAnswer AnswerByComparison(const Comparison& comparison, std::span<const Record> records) {
  if (auto answer = AnswerByOutcome(records)) return *answer;
  return {CodeOf(comparison.exit_code), comparison.conclusion};
}

}  // namespace blkfair
