// Result folders: kept for one run, and records that do not hold together are not read back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "results/record_check.h"
#include "results/result_folder.h"
#include "scenarios/language/canonical.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

class ResultFolderTest : public ::testing::Test {
 protected:
  ResultFolderTest() {
    std::string path = ::testing::TempDir() + "/blkfair-folder-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) ADD_FAILURE() << path;
    root_ = path;
  }
  ~ResultFolderTest() override { fs::remove_all(root_); }
  std::string Path(const char* name) const { return root_ + "/" + name; }

  std::string root_;
};

Record SoundRecord() {
  const Scenario scenario = testing::LopsidedScenario();
  Record record = testing::StockRecord(scenario);
  record.scenario_toml = "name = \"lopsided_null_blk\"\n";
  record.scenario_hash = ScenarioHash(record.scenario_toml);
  return record;
}

TEST_F(ResultFolderTest, IsReservedForOneRun) {
  ASSERT_TRUE(ReserveResultFolder(Path("out"), false));
  const auto second = ReserveResultFolder(Path("out"), false);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kUsage);
  ASSERT_TRUE(WriteResultFolder(Path("out"), {"x.toml", "blkfair run x.toml", {SoundRecord()}}));
  EXPECT_FALSE(fs::exists(Path("out") + "/unfinished"));
  EXPECT_FALSE(ReserveResultFolder(Path("out"), false));
  EXPECT_TRUE(ReserveResultFolder(Path("out"), true));
}

TEST_F(ResultFolderTest, ThatWasNotUsedGoes) {
  ASSERT_TRUE(ReserveResultFolder(Path("out"), false));
  ReleaseResultFolder(Path("out"));
  EXPECT_FALSE(fs::exists(Path("out")));
}

TEST_F(ResultFolderTest, ThatCannotBeMadeIsToldBeforeTheRun) {
  EXPECT_FALSE(ReserveResultFolder("/proc/blkfair", false));
}

TEST_F(ResultFolderTest, FolderOfSeveralNamesThem) {
  ASSERT_TRUE(WriteResultFolder(Path("one"), {"x.toml", "", {SoundRecord()}}));
  const auto read = ReadResultFolder(root_);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
  EXPECT_NE(read.error().message.find("one"), std::string::npos) << read.error().message;
}

TEST(RecordCheck, WhatWasObservedHoldsTogether) {
  EXPECT_FALSE(FaultOfRecord(SoundRecord()).has_value()) << *FaultOfRecord(SoundRecord());
}

TEST(RecordCheck, WhatWasChangedDoesNot) {
  struct Case {
    const char* complaint;
    std::function<void(Record*)> change;
  };
  const Case cases[] = {
      {"scenario_hash", [](Record* r) { r->scenario_hash[0] ^= 1; }},
      {"scenario_hash", [](Record* r) { r->scenario_toml += "seed = 2\n"; }},
      {"stands twice", [](Record* r) { r->phases.push_back(r->phases[0]); }},
      {"I/Os", [](Record* r) { r->phases[0].jobs[0].directions[0].ios *= 10; }},
      {"waited", [](Record* r) { r->phases[0].jobs[0].gap_max_ns = -1; }},
      {"never waited", [](Record* r) { r->phases[0].jobs[0].gap_max_ns = 0; }},
      {"contended",
       [](Record* r) {
         TagSetPhaseRecord& set = r->phases[0].tag_sets[0];
         set.samples_contended = set.samples + 1;
       }},
      {"window", [](Record* r) { r->phases[0].window_open_ns = -1; }},
      {"bytes", [](Record* r) { r->phases[0].jobs[0].directions[0].bytes = 7; }},
      {"bytes", [](Record* r) { r->phases[0].jobs[0].directions[0].bytes = 0; }},
      {"bytes", [](Record* r) { r->phases[0].queues[0].bytes *= 2; }},
      {"and its jobs", [](Record* r) { r->phases[0].queues[0].demand++; }},
      {"stands twice", [](Record* r) { r->phases[0].jobs.push_back(r->phases[0].jobs[0]); }},
      {"stands twice", [](Record* r) { r->phases[0].queues.push_back(r->phases[0].queues[0]); }},
      {"cell", [](Record* r) { r->phases[0].series_cell_ns = 0; }},
  };
  for (const Case& c : cases) {
    Record record = SoundRecord();
    c.change(&record);
    const auto fault = FaultOfRecord(record);
    ASSERT_TRUE(fault) << c.complaint;
    EXPECT_NE(fault->find(c.complaint), std::string::npos) << *fault;
  }
}

}  // namespace
}  // namespace blkfair
