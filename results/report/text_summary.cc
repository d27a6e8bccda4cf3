#include <fmt/format.h>

#include "results/report/layout.h"
#include "results/report/report.h"
#include "results/report/text_sections.h"

namespace blkfair {

SummaryRow SummaryOf(const ReportInput& input) {
  SummaryRow row;
  row.scenario = input.scenario->name;
  row.exit_code = input.judgement->exit_code;
  row.outcome = OutcomeName(input.judgement->outcome);
  for (const Record& record : input.records) {
    row.wall_seconds += record.host.wall_seconds;
    if (record.outcome == RunOutcome::kUnmet) row.outcome = "skip";
    if (row.note.empty()) row.note = record.outcome_why;
  }
  for (const Verdict& verdict : input.judgement->verdicts) {
    if (!row.note.empty()) break;
    if (verdict.outcome == input.judgement->outcome && verdict.outcome != Outcome::kPass) {
      row.note = verdict.assertion + ": " + verdict.why;
    }
  }
  return row;
}

std::string TextSummary(std::span<const SummaryRow> rows, bool colour) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft}, 0);
  constexpr size_t kScenarioColumns = 32;
  table.Limit(1, kScenarioColumns);
  size_t outcome_columns = 7;
  size_t scenario_columns = 8;
  for (const SummaryRow& row : rows) {
    outcome_columns = std::max(outcome_columns, TextColumns(row.outcome));
    scenario_columns =
        std::max(scenario_columns, std::min(kScenarioColumns, TextColumns(row.scenario)));
  }
  // "exit" and "seconds", and four gaps.
  const size_t taken = outcome_columns + scenario_columns + 4 + 7 + 4 * 2;
  table.Limit(4, kReportColumns - taken);
  table.Row({"outcome", "scenario", "exit", "seconds", "note"});
  for (const SummaryRow& row : rows) {
    table.Row({row.outcome, row.scenario, std::to_string(row.exit_code),
               fmt::format("{:.0f}", row.wall_seconds), row.note.empty() ? "-" : row.note},
              OutcomeColour(row.outcome, colour));
  }
  return table.ToString();
}

}  // namespace blkfair
