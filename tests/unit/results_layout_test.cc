#include <gtest/gtest.h>

#include "results/report/layout.h"
#include "results/report/report.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using Lines = std::vector<std::string>;

TEST(Layout, WrapsAtSpaces) {
  EXPECT_EQ(WrapText("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(WrapText("  one\n\ntwo ", 7), (Lines{"one", "two"}));
  EXPECT_EQ(WrapText("", 7), Lines{});
}

TEST(Layout, CutsWordsThatDoNotFit) {
  EXPECT_EQ(WrapText("abcdefghij k", 4), (Lines{"abcd", "efgh", "ij k"}));
}

TEST(Layout, ControlCharactersDoNotReachTheTerminal) {
  EXPECT_EQ(WrapText("a\x1b[31m\tb", 20), (Lines{"a [31m b"}));
}

TEST(Layout, CharactersOfSeveralBytesAreOneColumn) {
  EXPECT_EQ(TextColumns("\u00b5s"), 2U);
  EXPECT_EQ(Clip("\u00b5\u00b5\u00b5", 2), "\u00b5~");
  EXPECT_EQ(Clip("\u00b5\u00b5", 2), "\u00b5\u00b5");
}

TEST(Layout, TableAlignsItsColumns) {
  TextTable table({Align::kLeft, Align::kRight}, 1);
  table.Row({"a", "1"});
  table.Line("note");
  table.Row({"long", "22"});
  EXPECT_EQ(table.ToString(), " a      1\nnote\n long  22\n");
}

TEST(Layout, ColourDoesNotMoveTheColumns) {
  TextTable plain({Align::kLeft, Align::kLeft}, 0);
  TextTable coloured({Align::kLeft, Align::kLeft}, 0);
  plain.Row({"fail", "x"});
  coloured.Row({"fail", "x"}, "\x1b[31m");
  EXPECT_EQ(plain.ToString(), "fail  x\n");
  EXPECT_EQ(coloured.ToString(), "\x1b[31mfail\x1b[0m  x\n");
}

TEST(Layout, CommandsBreakOutsideQuotesOnly) {
  const std::string quoted = "'" + std::string(60, 'x') + " y'";
  const std::string text = WrapCommand("blkfair run " + quoted + " --set 'a b' " + quoted, 2);
  EXPECT_EQ(text, "  blkfair run " + quoted + " --set 'a b' \\\n      " + quoted + "\n");
}

TEST(TextSummary, IsOneRowAScenario) {
  const SummaryRow rows[] = {{"lopsided", "fail", 1, "light_rate: 4.28, <= 1.3", 61.2},
                             {"smoke_sim", "pass", 0, "", 0.1}};
  EXPECT_EQ(TextSummary(rows, false),
            "outcome  scenario   exit  seconds  note\n"
            "fail     lopsided      1       61  light_rate: 4.28, <= 1.3\n"
            "pass     smoke_sim     0        0  -\n");
  EXPECT_NE(TextSummary(rows, true).find("\x1b[31mfail\x1b[0m"), std::string::npos);
}

SummaryRow SummaryOfRun(const Scenario& scenario, const Record& record) {
  const std::vector<Record> records = {record};
  const Judgement judgement = Judge(scenario, records);
  return SummaryOf(ReportInput{&scenario, records, &judgement, "", ""});
}

TEST(TextSummary, RowSaysWhatDecided) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::StockRecord(scenario);
  SummaryRow row = SummaryOfRun(scenario, record);
  EXPECT_EQ(row.outcome, "pass");
  EXPECT_EQ(row.note, "");
  EXPECT_EQ(row.wall_seconds, 61.5);
  row = SummaryOfRun(scenario, testing::NofairRecord(scenario));
  EXPECT_EQ(row.outcome, "fail");
  EXPECT_EQ(row.note, "light_rate: light iops, alone / shared is 4.28, not <= 1.3");
  record.outcome = RunOutcome::kUnmet;
  record.outcome_why = "no null_blk";
  row = SummaryOfRun(scenario, record);
  EXPECT_EQ(row.outcome, "skip");
  EXPECT_EQ(row.exit_code, 77);
  EXPECT_EQ(row.note, "skipped: no null_blk");
  record.outcome = RunOutcome::kDied;
  EXPECT_EQ(SummaryOfRun(scenario, record).note, "light_rate: the run died: no null_blk");
  record.outcome = RunOutcome::kInterrupted;
  row = SummaryOfRun(scenario, record);
  EXPECT_EQ(row.outcome, "interrupted");
  EXPECT_EQ(row.exit_code, 130);
}

TEST(TextSummary, StaysWithinThePage) {
  const SummaryRow rows[] = {{std::string(80, 's'), "inconclusive", 4, std::string(200, 'n'), 1e6}};
  const std::string text = TextSummary(rows, false);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, kReportColumns);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace blkfair
