#include "scenarios/language/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/fd.h"
#include "base/units.h"
#include "scenarios/language/checks.h"
#include "scenarios/language/decode.h"
#include "scenarios/language/document.h"
#include "scenarios/language/expand.h"
#include "scenarios/language/format_value.h"
#include "scenarios/language/keys.h"
#include "scenarios/language/model_values.h"
#include "scenarios/language/problems.h"
#include "scenarios/language/sweep.h"

namespace blkfair {

namespace {

// Reads one tree into one scenario. Tables with a problem are left out of it; their names stay
// known, so that a fault is reported where it is and not wherever the table is referred to.
class Reading {
 public:
  Reading(const Catalog& catalog, const Node& root, bool phases_complete, Problems* problems)
      : catalog_(catalog), root_(root), phases_complete_(phases_complete), problems_(*problems) {}

  Scenario Read() {
    ReadTop();
    for (const Node& table : Tables("fixture")) ReadFixture(table);
    CollectNames("job", "job", &referents_.jobs);
    CollectNames("phase", "phase", &referents_.phases);
    for (const Node& table : Tables("job")) ReadJob(table);
    for (const Node& table : Tables("phase")) ReadPhase(table);
    CheckJobsRun();
    CheckSampling();
    std::vector<std::string> assert_names;
    CollectNames("assert", "assertion", &assert_names);
    for (const Node& table : Tables("assert")) ReadAssert(table);
    for (const Node& table : Tables("compare")) ReadCompare(table);
    for (const Node& table : Tables("axis")) ReadAxis(table);
    CheckAssertionsInScenario();
    return std::move(scenario_);
  }

 private:
  std::span<const Node> Tables(std::string_view name) const {
    const NodeEntry* entry = root_.Find(name);
    return entry == nullptr ? std::span<const Node>() : std::span<const Node>(entry->value.items);
  }

  void CollectNames(std::string_view array, std::string_view what,
                    std::vector<std::string>* names) {
    for (const Node& table : Tables(array)) CheckName(table, what, names, &problems_);
  }

  // The row of the part that `key` of `table` names, or null with a problem.
  const PartInfo* PartOf(const Node& table, std::string_view key, std::string_view what,
                         std::span<const PartInfo> parts) {
    const std::string* name = table.FindText(key);
    if (name == nullptr) return nullptr;  // absent or of a wrong type: reported by its spec
    const PartInfo* part = FindPart(parts, *name);
    if (part == nullptr) {
      std::vector<std::string> names;
      for (const PartInfo& other : parts) names.emplace_back(other.name);
      problems_.Add(PlaceOfKey(table, key), fmt::format("unknown {} {}{}", what, Quote(*name),
                                                        Suggestion(*name, names, "there are")));
    }
    return part;
  }

  // Reports the keys that neither the language nor `part` knows. While the part is unknown too,
  // only keys that no part has are reported.
  void CheckKeys(const Node& table, std::string_view where, std::span<const ParamSpec> keys,
                 const PartInfo* part, std::span<const PartInfo> parts) {
    if (part != nullptr) {
      ReportUnknownKeys(table, fmt::format("{} of {}", where, part->name), {keys, part->params},
                        &problems_);
      return;
    }
    std::vector<ParamSpec> all;
    for (const PartInfo& other : parts) {
      all.insert(all.end(), other.params.begin(), other.params.end());
    }
    ReportUnknownKeys(table, where, {keys, all}, &problems_);
  }

  // The part's own parameters, checked as a whole when each of them is fine.
  std::optional<ParamValues> PartParams(const Node& table, const PartInfo& part) {
    const size_t before = problems_.count();
    ParamValues values = DecodeTable(table, part.params, &problems_);
    CheckReferences(table, part.params, referents_, &problems_);
    if (problems_.count() > before) return std::nullopt;
    if (part.check != nullptr) {
      if (const std::optional<std::string> problem = part.check(values)) {
        problems_.Add(PlaceOfProblem(table, part.params, *problem),
                      fmt::format("{}: {}", part.name, *problem));
        return std::nullopt;
      }
    }
    return values;
  }

  // How many queues a fixture makes. Another fault in its table does not hide it, and so hides no
  // fault in the jobs.
  static std::optional<uint32_t> QueuesOf(const Node& table, const PartInfo& kind) {
    if (kind.queue_count == nullptr) return 0;
    const ParamSpec* spec = FindSpec(kind.params, kind.queue_key);
    CHECK(spec != nullptr);
    const std::string no_file;
    const std::vector<Override> no_overrides;
    Problems known(no_file, no_overrides);  // reported with the other keys
    const ParamValues values = DecodeTable(table, std::span(spec, 1), &known);
    if (known.count() > 0) return std::nullopt;
    return kind.queue_count(values);
  }

  void ReadTop();
  void ReadFixture(const Node& table);
  struct DecodedJob {
    JobSpec job;
    const PartInfo* engine;
  };
  std::optional<DecodedJob> DecodeJob(const Node& table);
  void ReadJob(const Node& table);
  Node ChangedTable(const JobSpec& job, std::span<const NodeEntry* const> settings) const;
  void ReadSettings(const Node& table, PhaseSpec* phase);
  static std::string TextOfKey(const DecodedJob& decoded, std::string_view key);
  void ReadPhase(const Node& table);
  void ReadAssert(const Node& table);
  void ReadCompare(const Node& table);
  void ReadAxis(const Node& table);
  const PartInfo* EngineOf(const Node& table, const Referents::Fixture* fixture);
  void CheckJobsRun();
  void CheckSampling();
  void CheckAssertionsInScenario();
  std::vector<std::string> AssertPhases(const Node& table, const ParamValues& values);

  const Catalog& catalog_;
  const Node& root_;
  const bool phases_complete_;
  Problems& problems_;
  Contention contention_ = Contention::kRequired;  // of assertions that have none of their own
  Referents referents_;
  std::vector<std::string> fixture_names_;
  Scenario scenario_;
};

void Reading::ReadTop() {
  static constexpr ParamSpec kTables[] = {
      {.name = "guest"},  {.name = "fixture"}, {.name = "job"}, {.name = "phase"},
      {.name = "assert"}, {.name = "compare"}, {.name = "axis"}};
  ReportUnknownKeys(root_, "the scenario", {ScenarioKeys(), kTables}, &problems_);
  const size_t before = problems_.count();
  const ParamValues values = DecodeTable(root_, ScenarioKeys(), &problems_);
  std::vector<std::string> none;
  CheckName(root_, "scenario", &none, &problems_);
  if (problems_.count() == before) SetScenario(values, &scenario_);
  contention_ = ContentionFrom(values.String("contention"));

  const Node no_guest;
  const NodeEntry* guest = root_.Find("guest");
  const Node& table = guest != nullptr ? guest->value : no_guest;
  ReportUnknownKeys(table, "[guest]", {GuestKeys()}, &problems_);
  scenario_.guest = GuestFrom(DecodeTable(table, GuestKeys(), &problems_));

  for (const std::string_view name : {"fixture", "job", "phase"}) {
    if (root_.Find(name) != nullptr) continue;
    problems_.Add(root_.place,
                  fmt::format("there is no [[{}]]: a scenario needs one at least", name));
  }
}

void Reading::ReadFixture(const Node& table) {
  const size_t before = problems_.count();
  const ParamValues values = DecodeTable(table, FixtureKeys(), &problems_);
  CheckName(table, "fixture", &fixture_names_, &problems_);
  const PartInfo* kind = PartOf(table, "kind", "fixture kind", catalog_.fixtures);
  CheckKeys(table, "[[fixture]]", FixtureKeys(), kind, catalog_.fixtures);
  std::optional<ParamValues> params;
  if (kind != nullptr) params = PartParams(table, *kind);

  std::optional<uint32_t> queues;
  if (kind != nullptr) queues = QueuesOf(table, *kind);
  if (values.Has("name")) {
    referents_.fixtures.push_back(
        {values.String("name"), kind != nullptr ? std::string(kind->name) : "", queues});
  }
  if (problems_.count() > before) return;
  scenario_.fixtures.push_back(
      {values.String("name"), values.String("kind"), std::move(*params), *queues});
}

// The engine that the job names, or else the one that suits its queue.
const PartInfo* Reading::EngineOf(const Node& table, const Referents::Fixture* fixture) {
  if (table.Find("engine") != nullptr) {
    return PartOf(table, "engine", "engine", catalog_.engines);
  }
  if (fixture == nullptr || fixture->kind.empty()) return nullptr;  // reported already
  const std::string_view name = fixture->kind == kSimName ? kSimName : kDefaultEngine;
  const PartInfo* engine = FindPart(catalog_.engines, name);
  if (engine == nullptr) {
    problems_.Add(table.place,
                  fmt::format("engine is missing: there is no {} to fall back on", name));
  }
  return engine;
}

std::optional<Reading::DecodedJob> Reading::DecodeJob(const Node& table) {
  const size_t before = problems_.count();
  const ParamValues values = DecodeTable(table, JobKeys(), &problems_);
  CheckReferences(table, JobKeys(), referents_, &problems_);
  std::optional<QueueRef> queue;
  if (values.Has("queue")) queue = ParseQueueName(values.String("queue"));
  const Referents::Fixture* fixture = queue ? referents_.FindFixture(queue->fixture) : nullptr;

  const PartInfo* engine = EngineOf(table, fixture);
  CheckKeys(table, "[[job]]", JobKeys(), engine, catalog_.engines);
  std::optional<ParamValues> params;
  if (engine != nullptr) params = PartParams(table, *engine);
  if (problems_.count() > before || fixture == nullptr || !params) return std::nullopt;

  JobSpec job = JobFrom(values);
  job.queue = *queue;
  job.engine = engine->name;
  job.engine_params = std::move(*params);
  if (!fixture->kind.empty()) CheckJob(table, job, *engine, *fixture, &problems_);
  return DecodedJob{std::move(job), engine};
}

void Reading::ReadJob(const Node& table) {
  std::optional<DecodedJob> decoded = DecodeJob(table);
  if (!decoded) return;
  scenario_.jobs.push_back(std::move(decoded->job));
}

// The table of a job with the keys that a phase sets. Keys that go with another engine or pattern
// only do not carry over to the one that is set.
Node Reading::ChangedTable(const JobSpec& job, std::span<const NodeEntry* const> settings) const {
  Node table;
  for (const Node& each : Tables("job")) {
    const std::string* name = each.FindText("name");
    if (name != nullptr && *name == job.name) table = each;
  }
  for (const NodeEntry* setting : settings) {
    const std::string_view key = SplitSettingPath(setting->key).key;
    const std::string& text = setting->value.text;
    if (key == "engine" && text != job.engine) {
      for (const ParamSpec& spec : FindPart(catalog_.engines, job.engine)->params) {
        table.Remove(spec.name);
      }
    }
    if (key == "rw" && text != RwName(Rw::kRw) && text != RwName(Rw::kRandRw)) {
      table.Remove("rwmixread");
    }
  }
  for (const NodeEntry* setting : settings) {
    table.Set(SplitSettingPath(setting->key).key, setting->place, setting->value);
  }
  return table;
}

// What `set` makes of the jobs of a phase. A fault that lies in the job and its settings together
// is reported at the settings.
void Reading::ReadSettings(const Node& table, PhaseSpec* phase) {
  const NodeEntry* set = table.Find("set");
  if (set == nullptr) return;
  for (const std::string& name : phase->jobs) {
    const JobSpec* job = scenario_.FindJob(name);
    std::vector<const NodeEntry*> settings;
    for (const NodeEntry& entry : set->value.entries) {
      if (SplitSettingPath(entry.key).job == name) settings.push_back(&entry);
    }
    if (job == nullptr || settings.empty()) continue;
    const size_t before = problems_.count();
    std::optional<DecodedJob> changed = DecodeJob(ChangedTable(*job, settings));
    for (Problems::Found& found : problems_.TakeBack(before)) {
      const bool at_setting =
          std::any_of(settings.begin(), settings.end(), [&](const NodeEntry* setting) {
            return found.place == setting->place || found.place == setting->value.place;
          });
      if (!at_setting) {
        found.message = fmt::format("job {} in phase {}: {}", name, phase->name, found.message);
      }
      problems_.Add(at_setting ? found.place : settings[0]->value.place, std::move(found.message));
    }
    if (problems_.count() > before) continue;
    for (const NodeEntry* setting : settings) {
      const std::string_view key = SplitSettingPath(setting->key).key;
      phase->settings.push_back({name, std::string(key), TextOfKey(*changed, key)});
    }
    phase->changed_jobs.push_back(std::move(changed->job));
  }
}

// The value of a job's key as canonical TOML.
std::string Reading::TextOfKey(const DecodedJob& decoded, std::string_view key) {
  const ParamValues values = JobValues(decoded.job);
  for (const auto& [specs, given] :
       {std::pair(JobKeys(), &values),
        std::pair(decoded.engine->params, &decoded.job.engine_params)}) {
    for (const ParamSpec& spec : specs) {
      const auto it = given->all().find(key);
      if (spec.name == key && it != given->all().end()) return FormatValue(spec, it->second);
    }
  }
  CHECK(false && "the job was decoded with this key");
}

void Reading::ReadPhase(const Node& table) {
  const size_t before = problems_.count();
  const ParamValues values = DecodeTable(table, PhaseKeys(), &problems_);
  ReportUnknownKeys(table, "[[phase]]", {PhaseKeys()}, &problems_);
  CheckReferences(table, PhaseKeys(), referents_, &problems_);
  CheckNoRepeats(table, "jobs", &problems_);
  if (problems_.count() > before) return;
  PhaseSpec phase = PhaseFrom(values);
  ReadSettings(table, &phase);
  scenario_.phases.push_back(std::move(phase));
}

// A job that runs in no phase is a slip, unless its phase was left out for another fault.
void Reading::CheckJobsRun() {
  std::set<std::string_view> running;
  for (const Node& phase : Tables("phase")) {
    const NodeEntry* jobs = phase.Find("jobs");
    if (jobs == nullptr || !jobs->value.IsArray()) return;
    for (const Node& job : jobs->value.items) running.insert(job.text);
  }
  if (!phases_complete_ || Tables("phase").empty()) return;
  for (const Node& table : Tables("job")) {
    const std::string* name = table.FindText("name");
    if (name == nullptr || !IsName(*name) || running.count(*name) > 0) continue;
    problems_.Add(
        PlaceOfKey(table, "name"),
        fmt::format("job {} runs in no phase: name it in one, or take it out", Quote(*name)));
  }
}

// Tags that are never sampled leave every assertion about them, and every one that needs
// contention, without an answer.
void Reading::CheckSampling() {
  if (scenario_.phases.empty() || scenario_.phases.size() != Tables("phase").size()) return;
  int64_t longest_ns = 0;
  for (const PhaseSpec& phase : scenario_.phases) {
    longest_ns = std::max(longest_ns, phase.runtime_ns);
  }
  if (scenario_.occupancy_interval_ns <= longest_ns) return;
  problems_.Add(
      PlaceOfKey(root_, "occupancy_interval"),
      fmt::format("occupancy_interval is {}, but no phase runs longer than {}: the tags "
                  "would not be sampled; lower it, or raise runtime",
                  FormatDuration(scenario_.occupancy_interval_ns), FormatDuration(longest_ns)));
}

std::vector<std::string> Reading::AssertPhases(const Node& table, const ParamValues& values) {
  const bool one = table.Find("phase") != nullptr;
  const bool several = table.Find("phases") != nullptr;
  if (one && several) {
    problems_.Add(PlaceOfKey(table, "phases"), "phase and phases say the same: keep one of them");
  } else if (!one && !several) {
    problems_.Add(table.place,
                  "phase is missing: name the phase that is judged, or several in "
                  "phases");
  }
  if (values.Has("phases")) return values.Strings("phases");
  if (values.Has("phase")) return {values.String("phase")};
  return {};
}

void Reading::ReadAssert(const Node& table) {
  const size_t before = problems_.count();
  const ParamValues values = DecodeTable(table, AssertKeys(), &problems_);
  CheckReferences(table, AssertKeys(), referents_, &problems_);
  CheckNoRepeats(table, "phases", &problems_);
  AssertSpec assertion;
  assertion.phases = AssertPhases(table, values);
  const PartInfo* kind = PartOf(table, "kind", "assertion kind", catalog_.assertions);
  CheckKeys(table, "[[assert]]", AssertKeys(), kind, catalog_.assertions);
  std::optional<ParamValues> params;
  if (kind != nullptr) params = PartParams(table, *kind);
  if (problems_.count() > before) return;
  assertion.name = values.String("name");
  assertion.kind = kind->name;
  assertion.contention =
      values.Has("contention") ? ContentionFrom(values.String("contention")) : contention_;
  assertion.params = std::move(*params);
  scenario_.asserts.push_back(std::move(assertion));
}

void Reading::ReadCompare(const Node& table) {
  const size_t before = problems_.count();
  ParamValues values = DecodeTable(table, catalog_.comparison, &problems_);
  ReportUnknownKeys(table, "[[compare]]", {catalog_.comparison}, &problems_);
  CheckReferences(table, catalog_.comparison, referents_, &problems_);
  if (problems_.count() == before) scenario_.compares.push_back({std::move(values)});
}

void Reading::ReadAxis(const Node& table) {
  const size_t before = problems_.count();
  const ParamValues values = DecodeTable(table, AxisKeys(), &problems_);
  ReportUnknownKeys(table, "[[axis]]", {AxisKeys()}, &problems_);
  CheckNoRepeats(table, "values", &problems_);
  if (problems_.count() > before) return;
  const auto same = [&](const AxisSpec& axis) { return axis.key == values.String("key"); };
  if (std::any_of(scenario_.axes.begin(), scenario_.axes.end(), same)) {
    problems_.Add(PlaceOfKey(table, "key"),
                  fmt::format("there is an axis of {} already", Quote(values.String("key"))));
    return;
  }
  scenario_.axes.push_back({values.String("key"), values.Strings("values")});
}

// Only in a scenario without another problem: what hangs together with a faulty table cannot be
// judged, and every [[assert]] has its row.
void Reading::CheckAssertionsInScenario() {
  if (problems_.count() > 0 || catalog_.assertion_problems == nullptr) return;
  const std::span<const Node> tables = Tables("assert");
  for (size_t i = 0; i < tables.size(); i++) {
    const AssertSpec& assertion = scenario_.asserts[i];
    const PartInfo* kind = FindPart(catalog_.assertions, assertion.kind);
    CHECK(kind != nullptr);
    for (const std::string& problem : catalog_.assertion_problems(scenario_, assertion)) {
      problems_.Add(PlaceOfProblem(tables[i], kind->params, problem),
                    fmt::format("assertion {}: {}", Quote(assertion.name), problem));
    }
  }
}

struct Parsed {
  Node root;
  Scenario scenario;
};

// What stands in the file, and not yet what the axes make of it.
tl::expected<Parsed, std::vector<Diagnostic>> ParseOnce(std::string_view toml_text,
                                                        const std::string& file,
                                                        const Catalog& catalog,
                                                        const std::vector<Override>& overrides) {
  Problems problems(file, overrides);
  tl::expected<Node, SyntaxError> root = ParseDocument(toml_text);
  if (!root) {
    problems.Add(root.error().place, root.error().message);
    return tl::unexpected(problems.Take());
  }
  const bool phases_complete = ExpandScenario(&*root, &problems);
  ApplyOverrides(&*root, overrides, &problems);
  ExpandSweeps(&*root, &problems);
  Scenario scenario = Reading(catalog, *root, phases_complete, &problems).Read();
  if (problems.count() > 0) return tl::unexpected(problems.Take());
  return Parsed{std::move(*root), std::move(scenario)};
}

}  // namespace

std::string Diagnostic::ToString() const {
  if (line == 0) return fmt::format("{}: {}", file, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

tl::expected<Scenario, std::vector<Diagnostic>> ParseScenario(
    std::string_view toml_text, const std::string& file, const Catalog& catalog,
    const std::vector<Override>& overrides) {
  tl::expected<Parsed, std::vector<Diagnostic>> parsed =
      ParseOnce(toml_text, file, catalog, overrides);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  Problems problems(file, overrides);
  for (size_t i = 0; i < parsed->scenario.axes.size(); i++) {
    const Node& table = parsed->root.Find("axis")->value.items[i];
    const AxisSpec& axis = parsed->scenario.axes[i];
    std::set<std::string> reported;  // what is wrong with the key is so with every value
    for (const std::string& value : axis.values) {
      std::vector<Override> changed = overrides;
      changed.push_back(axis.key + "=" + value);
      const auto cell = ParseOnce(toml_text, file, catalog, changed);
      if (cell) continue;
      for (const Diagnostic& diagnostic : cell.error()) {
        if (!reported.insert(diagnostic.message).second) continue;
        problems.Add(PlaceOfKey(table, "values"),
                     fmt::format("{}: {}", changed.back(), diagnostic.message));
      }
    }
  }
  if (problems.count() > 0) return tl::unexpected(problems.Take());
  return std::move(parsed->scenario);
}

tl::expected<Scenario, std::vector<Diagnostic>> ReadScenarioFile(
    const std::string& path, const Catalog& catalog, const std::vector<Override>& overrides) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text) {
    return tl::unexpected(std::vector<Diagnostic>{{path, 0, 0, text.error().message}});
  }
  return ParseScenario(*text, path, catalog, overrides);
}

}  // namespace blkfair
