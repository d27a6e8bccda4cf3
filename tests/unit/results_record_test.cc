#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "results/record_json.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using Json = nlohmann::ordered_json;

Record FullRecord() {
  const Scenario scenario = testing::LopsidedScenario();
  Record record = testing::NofairRecord(scenario);
  JobRecord& light = testing::JobIn(testing::PhaseIn(record, "contention"), "light");
  light.errors = {{"read EIO", 3}, {"read short", 1}};
  light.gap_censored = true;
  light.directions.front().slat.reset();
  light.directions.front().lat.Add((int64_t{1} << Histogram::kMaxBits) + 5);
  light.depth_mean = 0.1 + 0.2;
  light.series.push_back(SeriesCell{1, 512, 1'000'000, 1'000'000, 1});
  record.seed = std::numeric_limits<uint64_t>::max();
  record.host.qemu_arguments = {"-M", "microvm", "-append", "a \"quoted\" word"};
  record.host.failed_boots = {"no life for 20 s"};
  return record;
}

std::string ErrorOf(const std::string& json) {
  const Result<Record> record = RecordFromJson(json);
  if (record) return "(no error)";
  EXPECT_EQ(record.error().kind, ErrorKind::kUsage);
  return record.error().message;
}

TEST(RecordJson, ComesBackAsTheSameText) {
  const Record record = FullRecord();
  for (const bool pretty : {false, true}) {
    const std::string text = RecordToJson(record, pretty);
    const Result<Record> read = RecordFromJson(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(RecordToJson(*read, pretty), text);
  }
}

TEST(RecordJson, CompactAndPrettyAreTheSameDocument) {
  const Record record = FullRecord();
  const std::string compact = RecordToJson(record, false);
  EXPECT_EQ(compact.find('\n'), std::string::npos);
  EXPECT_EQ(Json::parse(compact), Json::parse(RecordToJson(record, true)));
}

TEST(RecordJson, PhaseComesBackAsTheSameText) {
  const std::string text = PhaseToJson(FullRecord().phases.back());
  const Result<PhaseRecord> read = PhaseFromJson(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(PhaseToJson(*read), text);
}

TEST(RecordJson, FieldsComeBack) {
  const Result<Record> read = RecordFromJson(RecordToJson(FullRecord(), true));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(read->outcome, RunOutcome::kComplete);
  EXPECT_EQ(read->host.qemu_arguments.back(), "a \"quoted\" word");
  const PhaseRecord& phase = read->phases.back();
  EXPECT_EQ(phase.name, "contention");
  const JobRecord& light = phase.jobs.back();
  EXPECT_EQ(light.depth_mean, 0.1 + 0.2);
  EXPECT_EQ(light.errors.at("read EIO"), 3U);
  EXPECT_TRUE(light.gap_censored);
  EXPECT_FALSE(light.directions.front().slat);
  EXPECT_EQ(light.directions.front().lat.histogram().saturated(), 1U);
  EXPECT_EQ(light.series.back(), (SeriesCell{1, 512, 1'000'000, 1'000'000, 1}));
  EXPECT_EQ(phase.queues.front().occupancy->mean, 62.8);
  EXPECT_EQ(read->fixtures.front().settings.front().second, "none");
}

TEST(RecordJson, AbsentIsNull) {
  Record record = FullRecord();
  record.phases.back().queues.front().occupancy->mean.reset();
  record.phases.back().queues.back().occupancy.reset();
  const Json json = Json::parse(RecordToJson(record, false));
  const Json& phase = json["phases"].back();
  EXPECT_TRUE(phase["queues"].front()["occupancy"]["mean"].is_null());
  EXPECT_TRUE(phase["queues"].back()["occupancy"].is_null());
  EXPECT_TRUE(phase["jobs"].back()["directions"].front()["slat"].is_null());
}

TEST(RecordJson, NeverHoldsNanOrInfinity) {
  Record record = FullRecord();
  record.phases.back().jobs.front().depth_mean = std::numeric_limits<double>::quiet_NaN();
  record.phases.back().tag_sets.front().active_queues_mean =
      std::numeric_limits<double>::infinity();
  const std::string text = RecordToJson(record, false);
  EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded());
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf\""), std::string::npos);
}

TEST(RecordJson, BytesThatAreNotUtf8DoNotBreakIt) {
  Record record = FullRecord();
  record.environment.kernel_command_line = "name=\xff\xfe\x01";
  record.phases.back().jobs.front().errors["read \xc3\x28"] = 1;
  const std::string text = RecordToJson(record, true);
  ASSERT_FALSE(Json::parse(text, nullptr, false).is_discarded());
  EXPECT_TRUE(RecordFromJson(text));
}

TEST(RecordJson, ComparableFormIsWithoutTheHostAndOnlyThat) {
  Record record = FullRecord();
  const std::string before = ComparableJson(record);
  record.host.wall_seconds = 12.25;
  record.host.started = "2027-01-01T00:00:00Z";
  EXPECT_EQ(ComparableJson(record), before);
  record.phases.back().jobs.front().gap_max_ns++;
  EXPECT_NE(ComparableJson(record), before);
  Json full = Json::parse(RecordToJson(record, false));
  full.erase("host");
  EXPECT_EQ(Json::parse(ComparableJson(record)), full);
}

TEST(RecordJson, WrongSchemaIsNamed) {
  Json json = Json::parse(RecordToJson(FullRecord(), false));
  json["schema"] = kRecordSchema + 1;
  EXPECT_NE(ErrorOf(json.dump()).find("schema 2"), std::string::npos) << ErrorOf(json.dump());
  json.erase("schema");
  EXPECT_NE(ErrorOf(json.dump()).find("no \"schema\""), std::string::npos);
}

TEST(RecordJson, WhatIsNotARecordIsRefused) {
  const std::string text = RecordToJson(FullRecord(), false);
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[]"), std::string("null"),
        text.substr(0, text.size() / 2), "note: " + text, text + text}) {
    EXPECT_NE(ErrorOf(bad).find("not a record"), std::string::npos) << ErrorOf(bad);
  }
}

// Takes each key of each object of a document away once: none may be missed.
void ExpectEachKeyIsNeeded(const Json& whole, const Json::json_pointer& at) {
  const Json& here = whole[at];
  if (here.is_array()) {
    if (!here.empty()) ExpectEachKeyIsNeeded(whole, at / 0);
    return;
  }
  if (!here.is_object()) return;
  for (auto it = here.begin(); it != here.end(); ++it) {
    ExpectEachKeyIsNeeded(whole, at / it.key());
    if (at.to_string().ends_with("/errors")) continue;  // a map: its keys are data
    Json without = whole;
    without[at].erase(it.key());
    const std::string error = ErrorOf(without.dump());
    EXPECT_NE(error.find("no \"" + it.key() + "\""), std::string::npos)
        << at.to_string() << "/" << it.key() << ": " << error;
  }
}

TEST(RecordJson, EveryMissingKeyIsNamed) {
  Record record = FullRecord();
  record.phases = {record.phases.back()};
  std::swap(record.phases.front().jobs.front(), record.phases.front().jobs.back());
  const Json whole = Json::parse(RecordToJson(record, false));
  ExpectEachKeyIsNeeded(whole, Json::json_pointer());
}

TEST(RecordJson, WrongTypesNameTheirPlace) {
  Json json = Json::parse(RecordToJson(FullRecord(), false));
  json["phases"][2]["jobs"][1]["iodepth"] = -1;
  EXPECT_NE(ErrorOf(json.dump()).find("phases[2].jobs[1].iodepth is not a whole number"),
            std::string::npos)
      << ErrorOf(json.dump());
  json["phases"][2]["jobs"][1]["iodepth"] = "1";
  EXPECT_NE(ErrorOf(json.dump()).find("phases[2].jobs[1].iodepth"), std::string::npos);
  json["phases"][2]["jobs"][1]["iodepth"] = 1;
  json["phases"][2]["jobs"][1]["colour"] = "red";
  EXPECT_NE(ErrorOf(json.dump()).find("phases[2].jobs[1] has keys"), std::string::npos);
}

TEST(RecordJson, HistogramThatDoesNotAddUpIsRefused) {
  Json json = Json::parse(RecordToJson(FullRecord(), false));
  Json& lat = json["phases"][0]["jobs"][0]["directions"][0]["lat"];
  lat["count"] = lat["count"].get<int>() + 1;
  EXPECT_NE(ErrorOf(json.dump()).find("do not add up"), std::string::npos) << ErrorOf(json.dump());
  lat["count"] = lat["count"].get<int>() - 1;
  lat["min_ns"] = nullptr;
  EXPECT_NE(ErrorOf(json.dump()).find("min, max or stddev"), std::string::npos);
}

// The keys of every object that the schema describes are those of the record, no more and no less.
void ExpectSchemaDescribes(const Json& schema, const Json& root, const Json& value,
                           const std::string& at) {
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"];
    return ExpectSchemaDescribes(root.at(Json::json_pointer(ref.substr(1))), root, value, at);
  }
  if (schema.contains("anyOf")) {
    if (value.is_null()) return;
    return ExpectSchemaDescribes(schema["anyOf"][0], root, value, at);
  }
  if (value.is_object() && schema.contains("properties")) {
    std::set<std::string> described;
    for (auto it = schema["properties"].begin(); it != schema["properties"].end(); ++it) {
      described.insert(it.key());
    }
    std::set<std::string> required = schema["required"].get<std::set<std::string>>();
    std::set<std::string> present;
    for (auto it = value.begin(); it != value.end(); ++it) {
      present.insert(it.key());
      if (!described.contains(it.key())) continue;
      ExpectSchemaDescribes(schema["properties"][it.key()], root, it.value(), at + "/" + it.key());
    }
    EXPECT_EQ(described, present) << at;
    EXPECT_EQ(required, present) << at;
    EXPECT_EQ(schema["additionalProperties"], Json(false)) << at;
  } else if (value.is_array() && schema.contains("items") && !value.empty()) {
    ExpectSchemaDescribes(schema["items"], root, value.front(), at + "[]");
  } else {
    ASSERT_TRUE(schema.contains("type") || schema.contains("enum")) << at;
  }
}

TEST(RecordJson, SchemaDescribesEveryKey) {
  const Result<std::string> text =
      ReadWholeFile(BLKFAIR_SOURCE_DIR "/results/schema/record.schema.json");
  ASSERT_TRUE(text) << text.error().message;
  const Json schema = Json::parse(*text);
  ExpectSchemaDescribes(schema, schema, Json::parse(RecordToJson(FullRecord(), false)), "");
}

}  // namespace
}  // namespace blkfair
