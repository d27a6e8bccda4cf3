// Reports of stored records, compared with stored reports: tests/golden/<case>/{record.json,
// report.txt, report.json}. With BLKFAIR_UPDATE_GOLDEN=1 in the environment all three are written
// anew, from the records that the cases are made of: read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "base/fd.h"
#include "results/fairness/judge.h"
#include "results/record_json.h"
#include "results/report/layout.h"
#include "results/report/report.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

struct GoldenCase {
  std::string name;
  Scenario scenario;
  Record record;
  std::string command;
};

bool Updating() { return std::getenv("BLKFAIR_UPDATE_GOLDEN") != nullptr; }

std::string PathOf(const GoldenCase& golden, const std::string& file) {
  return std::string(BLKFAIR_SOURCE_DIR) + "/tests/golden/" + golden.name + "/" + file;
}

void ExpectGolden(const GoldenCase& golden, const std::string& file, const std::string& text) {
  if (Updating()) {
    const Result<void> written = WriteWholeFile(PathOf(golden, file), text);
    ASSERT_TRUE(written) << written.error().message;
    return;
  }
  const Result<std::string> stored = ReadWholeFile(PathOf(golden, file));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(*stored, text) << file
                           << " differs: if that is meant, BLKFAIR_UPDATE_GOLDEN=1 stores it";
}

GoldenCase StockCase() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::StockRecord(scenario);
  return {"lopsided_stock", scenario, record, "blkfair run scenarios/lopsided_null_blk.toml"};
}

GoldenCase NofairCase() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::NofairRecord(scenario);
  record.host.kernel = "nofair.bzImage";
  record.host.failed_boots = {"the guest showed no life within 20 s"};
  record.environment.audit[1] = {"lockdep", "on", "this kernel checks the order of its locks"};
  return {"lopsided_nofair", scenario, record,
          "blkfair run scenarios/lopsided_null_blk.toml --kernel nofair.bzImage"};
}

// Interrupted within the last phase, with what can be absent absent, and clones.
GoldenCase InterruptedCase() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.jobs[0].numjobs = 4;
  scenario.jobs[0].iodepth = 64;
  scenario.jobs[1].think_time_ns = 1'000'000;
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::StockRecord(scenario);
  record.outcome = RunOutcome::kInterrupted;
  record.outcome_why = "SIGINT";
  for (PhaseRecord& each : record.phases) {
    for (JobRecord& job : each.jobs) {
      if (job.job == "light") job.issue_point = "just before the call: slat is absent";
    }
  }
  PhaseRecord& phase = testing::PhaseIn(record, "contention");
  phase.partial = true;
  phase.queues[1].occupancy.reset();
  phase.window_close_ns = phase.window_open_ns + 1'500'000'000;
  for (JobRecord& job : phase.jobs) {
    job.directions.front() = DirectionRecord{"read", 120, 120 * 4096, std::nullopt, {}, {}, {}};
    job.directions.front().lat = testing::MakeLatency(120, 500'000'000, 600'000'000, 0.02);
    job.directions.front().clat = job.directions.front().lat;
  }
  JobRecord& light = testing::JobIn(phase, "light");
  light.directions.front().bytes = 120 * 512;
  light.gap_censored = true;
  light.directions.front().slat.reset();
  light.directions.front().clat = testing::MakeLatency(120, 1'000'000, 1'400'000, 0.02);
  light.directions.front().lat = testing::MakeLatency(120, 1'000'000, 1'400'000, 0.02);
  light.errors = {{"read EIO", 2}};
  testing::JobIn(phase, "heavy").depth_mean = 20;
  return {"interrupted", scenario, record,
          "blkfair run scenarios/lopsided_null_blk.toml --set job.heavy.numjobs=4 --set "
          "job.heavy.iodepth=64 --set job.light.think_time=1ms --out results/lopsided --force"};
}

GoldenCase DiedCase() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::MakeRecord(scenario);
  record.outcome = RunOutcome::kDied;
  record.outcome_why =
      "the guest panicked; the last lines of its console:\n"
      "[    1.204] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n"
      "[    1.205] CPU: 0 PID: 1 Comm: init Not tainted 6.12.117";
  record.fixtures.clear();
  return {"died", scenario, record, "blkfair run scenarios/lopsided_null_blk.toml"};
}

GoldenCase UnmetCase() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  Record record = testing::MakeRecord(scenario);
  record.outcome = RunOutcome::kUnmet;
  record.outcome_why = "this kernel has no null_blk, neither built in nor as a module";
  record.fixtures.clear();
  return {"unmet", scenario, record, "blkfair run scenarios/lopsided_null_blk.toml --on host"};
}

// A phase that changes a job, and a sweep over two of its keys.
GoldenCase SweepCase() {
  Scenario scenario = testing::LopsidedScenario();
  scenario.name = "sweep";
  scenario.phases[2].settings = {{"light", "iodepth", "4"}};
  scenario.phases[2].changed_jobs = {scenario.jobs[1]};
  scenario.phases[2].changed_jobs[0].iodepth = 4;
  Record record = testing::StockRecord(scenario);
  for (const bool direct : {true, false}) {
    for (const uint32_t iodepth : {64U, 1U}) {
      PhaseSpec step = scenario.phases[0];
      const std::string text = direct ? "true" : "false";
      step.name = "heavy_" + text + "_" + std::to_string(iodepth);
      step.sweep_of = "heavy";
      step.settings = {{"heavy", "bs", "\"128KiB\""},
                       {"heavy", "direct", text},
                       {"heavy", "iodepth", std::to_string(iodepth)}};
      step.changed_jobs = {scenario.jobs[0]};
      step.changed_jobs[0].bs_bytes = 128 << 10;
      step.changed_jobs[0].direct = direct;
      step.changed_jobs[0].iodepth = iodepth;
      scenario.phases.push_back(step);
      record.phases.push_back(
          testing::MakePhase(scenario, step.name,
                             {{"heavy", "pair:0", 9.7 * iodepth, 103'000'000, 104'000'000, 0.02,
                               101'000'000, 0.97 * iodepth}}));
    }
  }
  testing::PhaseIn(record, "heavy_false_1").jobs[0].errors = {{"read EIO", 2}};
  scenario.asserts = {testing::MakeAssert("work_conservation", {"heavy_true_64", "heavy_false_1"},
                                          {{"of", "tags"}, {"min", 0.9}}, Contention::kAny)};
  return {"sweep", scenario, record, "blkfair run sweep.toml"};
}

class GoldenReport : public ::testing::TestWithParam<std::function<GoldenCase()>> {};

TEST_P(GoldenReport, IsAsStored) {
  GoldenCase golden = GetParam()();
  if (Updating()) {
    std::filesystem::create_directories(PathOf(golden, ""));
    ExpectGolden(golden, "record.json", RecordToJson(golden.record, true));
  }
  // What is judged is the stored record.
  const Result<std::string> text = ReadWholeFile(PathOf(golden, "record.json"));
  ASSERT_TRUE(text) << text.error().message;
  const Result<Record> record = RecordFromJson(*text);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(RecordToJson(*record, true), *text);
  const std::vector<Record> records = {*record};
  const Judgement judgement = Judge(golden.scenario, records);
  const ReportInput input{&golden.scenario, records, &judgement, golden.command,
                          "blkfair-results/" + golden.name};
  ExpectGolden(golden, "report.txt", TextReport(input, false));
  ExpectGolden(golden, "report.json", JsonReport(input));
}

TEST_P(GoldenReport, FitsThePage) {
  const GoldenCase golden = GetParam()();
  const std::vector<Record> records = {golden.record, golden.record, golden.record};
  const Judgement judgement = Judge(golden.scenario, records);
  const ReportInput input{&golden.scenario, records, &judgement, golden.command, ""};
  const std::string text = TextReport(input, false);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_LE(TextColumns(line), kReportColumns) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
    begin = end + 1;
  }
}

TEST_P(GoldenReport, ColourMarksOutcomesOnly) {
  const GoldenCase golden = GetParam()();
  const std::vector<Record> records = {golden.record};
  const Judgement judgement = Judge(golden.scenario, records);
  const ReportInput input{&golden.scenario, records, &judgement, golden.command, ""};
  std::string text = TextReport(input, true);
  EXPECT_NE(text.find('\x1b'), std::string::npos);
  for (const std::string code : {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"}) {
    for (size_t at = text.find(code); at != std::string::npos; at = text.find(code)) {
      text.erase(at, code.size());
    }
  }
  EXPECT_EQ(text, TextReport(input, false));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenReport,
                         ::testing::Values(StockCase, NofairCase, InterruptedCase, DiedCase,
                                           UnmetCase, SweepCase),
                         [](const auto& row) {
                           std::string name;
                           bool upper = true;
                           for (const char c : row.param().name) {
                             if (c != '_') {
                               name += upper ? static_cast<char>(std::toupper(c)) : c;
                             }
                             upper = c == '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace blkfair
