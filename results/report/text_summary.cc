#include <fmt/format.h>

#include "results/report/layout.h"
#include "results/report/report.h"
#include "results/report/text_sections.h"

namespace blkfair {

SummaryRow SummaryOf(const ReportInput& input) {
  const Judgement& judgement = *input.judgement;
  SummaryRow row;
  row.scenario = input.scenario->name;
  row.outcome = RunOutcomeWord(judgement);
  row.exit_code = judgement.exit_code;
  row.verdicts = judgement.verdicts;
  for (const Record& record : input.records) row.wall_seconds += record.host.wall_seconds;
  if (judgement.exit_code == 0) return row;
  // What decided: the first verdict of the outcome that the run has.
  for (const Verdict& verdict : judgement.verdicts) {
    if (verdict.outcome != judgement.outcome) continue;
    row.note = verdict.outcome == Outcome::kFail && verdict.observed_value
                   ? fmt::format("{}: {} is {}, not {}", verdict.assertion, verdict.what,
                                 verdict.observed, verdict.bound)
                   : fmt::format("{}: {}", verdict.assertion, verdict.why);
    return row;
  }
  if (!judgement.warnings.empty()) row.note = judgement.warnings.front();
  return row;
}

std::string TextSummary(std::span<const SummaryRow> rows, bool colour) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft}, 0);
  table.Limit(1, 32);
  constexpr size_t kNoteColumn = 4;
  table.Shrink(kNoteColumn);
  table.Row({"outcome", "scenario", "exit", "seconds", "note"});
  for (const SummaryRow& row : rows) {
    table.Row({row.outcome, row.scenario, std::to_string(row.exit_code),
               fmt::format("{:.0f}", row.wall_seconds), row.note.empty() ? "-" : row.note},
              OutcomeColour(row.outcome, colour));
  }
  return table.ToString();
}

}  // namespace blkfair
