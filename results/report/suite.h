// What a verdict or a run is to a machine that runs tests: KTAP and JUnit know four results.
#pragma once

#include <string>

#include "results/report/report.h"

namespace blkfair {

enum class SuiteResult { kPass, kFail, kError, kSkip };

SuiteResult ResultOf(const Verdict& verdict);
SuiteResult ResultOf(const SummaryRow& row);  // by its exit code
std::string NameOf(const Verdict& verdict);
// What was observed, what it should have been and why, or what is missing for a verdict.
std::string WhyOf(const Verdict& verdict);
std::string WhyOf(const SummaryRow& row);

}  // namespace blkfair
