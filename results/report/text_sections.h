// The parts of the text report, one function each; text_report.cc puts them together.
#pragma once

#include <string>
#include <string_view>

#include "results/report/report.h"

namespace blkfair {

inline constexpr size_t kLabelColumns = 13;

// Scenario, kernel, executor, clock, seed, number of records.
std::string HeaderSection(const ReportInput& input);
// What was set up, as read back.
std::string SetUpSection(const ReportInput& input);
// One row per job and phase.
std::string MeasuredSection(const ReportInput& input);
// Per phase and tag set: demand, occupancy, and which counter the tags are from.
std::string TagSetSection(const ReportInput& input);
// One row per verdict, its reason beneath.
std::string VerdictSection(const ReportInput& input, bool colour);

// The ANSI sequence of an outcome ("pass", "fail", "skip", ...); empty unless `colour`.
std::string_view OutcomeColour(std::string_view outcome, bool colour);

}  // namespace blkfair
