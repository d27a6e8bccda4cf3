// Reports: presentation of Records and their Judgement, nothing else. Pure: text out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/fairness/judge.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

struct ReportInput {
  const Scenario* scenario = nullptr;
  std::span<const Record> records;
  const Judgement* judgement = nullptr;
  std::string repeat_command;  // the exact command that repeats the run
  std::string results_folder;  // empty when nothing was stored
};

// At most 100 columns. `colour`: ANSI colours on the verdicts.
std::string TextReport(const ReportInput& input, bool colour);
// One JSON document with the judgement and per-job figures (the records stand in their own files).
std::string JsonReport(const ReportInput& input);

struct SummaryRow {
  std::string scenario;
  std::string outcome;  // "pass", "fail", "skip", ...
  int exit_code = 0;
  std::string note;  // first failing assertion, or why it was skipped
  double wall_seconds = 0;
  std::vector<Verdict> verdicts = {};
};
// The row of one run: its outcome, and the first assertion that did not pass or why it was skipped.
SummaryRow SummaryOf(const ReportInput& input);
// The table that ends a run of several scenarios.
std::string TextSummary(std::span<const SummaryRow> rows, bool colour);

// The same for machines that run tests. A scenario is a test and its verdicts are subtests (KTAP),
// or a suite with a test for the run itself and one for each verdict (JUnit). What was not judged
// (inconclusive, unmet) is a skip with its reason, what broke is an error and not a failure, and as
// many tests are printed as were announced, however the run ended: rows for what it did not get to
// are the caller's.
std::string KtapReport(std::span<const SummaryRow> rows);
std::string JunitReport(std::span<const SummaryRow> rows);

}  // namespace blkfair
