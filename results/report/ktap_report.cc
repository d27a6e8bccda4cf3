// KTAP (Documentation/dev-tools/ktap.rst), version 1.
#include <fmt/format.h>

#include <string>

#include "results/report/report.h"
#include "results/report/suite.h"

namespace blkfair {

namespace {

// In one line, and with no "#" that would begin a directive.
std::string Plain(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (c == '#') plain += '\\';
    plain += c == '\n' ? ' ' : c;
  }
  return plain;
}

std::string Line(size_t number, const std::string& name, SuiteResult result,
                 const std::string& why) {
  switch (result) {
    case SuiteResult::kPass:
      return fmt::format("ok {} {}\n", number, Plain(name));
    case SuiteResult::kSkip:
      return fmt::format("ok {} {} # SKIP {}\n", number, Plain(name), Plain(why));
    case SuiteResult::kError:
      return fmt::format("not ok {} {} # ERROR {}\n", number, Plain(name), Plain(why));
    case SuiteResult::kFail:
      break;
  }
  return fmt::format("not ok {} {}\n", number, Plain(name));
}

}  // namespace

std::string KtapReport(std::span<const SummaryRow> rows) {
  std::string text = fmt::format("KTAP version 1\n1..{}\n", rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    const SummaryRow& row = rows[i];
    if (!row.verdicts.empty()) {
      text += fmt::format("  KTAP version 1\n  # Subtest: {}\n  1..{}\n", Plain(row.scenario),
                          row.verdicts.size());
    }
    for (size_t j = 0; j < row.verdicts.size(); j++) {
      const Verdict& verdict = row.verdicts[j];
      text += "  " + Line(j + 1, NameOf(verdict), ResultOf(verdict), WhyOf(verdict));
      if (verdict.outcome == Outcome::kFail) text += fmt::format("  # {}\n", Plain(WhyOf(verdict)));
    }
    if (ResultOf(row) == SuiteResult::kFail) text += fmt::format("# {}\n", Plain(row.note));
    text += Line(i + 1, row.scenario, ResultOf(row), WhyOf(row));
  }
  return text;
}

}  // namespace blkfair
