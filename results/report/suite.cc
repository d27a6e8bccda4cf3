#include "results/report/suite.h"

#include <fmt/format.h>

namespace blkfair {

SuiteResult ResultOf(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kPass:
      return SuiteResult::kPass;
    case Outcome::kFail:
      return SuiteResult::kFail;
    case Outcome::kError:
      return SuiteResult::kError;
    case Outcome::kInconclusive:
      break;
  }
  return SuiteResult::kSkip;
}

SuiteResult ResultOf(const SummaryRow& row) {
  if (row.outcome == "pass") return SuiteResult::kPass;
  if (row.outcome == "fail") return SuiteResult::kFail;
  if (row.outcome == "skip" || row.outcome == "inconclusive") return SuiteResult::kSkip;
  return SuiteResult::kError;
}

std::string NameOf(const Verdict& verdict) {
  return fmt::format("{}: {} ({})", verdict.assertion, verdict.what, verdict.phase);
}

std::string WhyOf(const Verdict& verdict) {
  if (verdict.outcome == Outcome::kFail) {
    return fmt::format("{}, not {}: {}", verdict.observed, verdict.bound, verdict.why);
  }
  return fmt::format("{}: {}", OutcomeName(verdict.outcome), verdict.why);
}

std::string WhyOf(const SummaryRow& row) {
  return row.outcome == "skip" ? row.note : fmt::format("{}: {}", row.outcome, row.note);
}

}  // namespace blkfair
