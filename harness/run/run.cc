#include "harness/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "engines/engine_table.h"
#include "harness/measure/audit.h"
#include "harness/measure/boot_work.h"
#include "harness/measure/cross_check.h"
#include "harness/measure/environment.h"
#include "harness/measure/kernel_counters.h"
#include "harness/measure/occupancy.h"
#include "harness/measure/occupancy_sources.h"
#include "harness/run/executor.h"
#include "harness/run/foreign_use.h"
#include "harness/run/phase_record.h"
#include "harness/run/sim_executor.h"
#include "harness/run/thread_executor.h"
#include "harness/run/version.h"
#include "kmod_setup/fixture_table.h"

namespace blkfair {

namespace {

constexpr int64_t kSettlePollNs = 100'000'000;
// A phase starts a little later for another seed: the start is one of the things that may move a
// deterministic run onto another path, and seeds are how its spread is sampled.
constexpr uint64_t kNudgeMaxNs = 10'000'000;

// The first repeat is the run that the scenario's seed alone describes.
uint64_t SeedOf(const RunOptions& options) {
  const uint64_t seed = options.scenario->seed;
  return options.repeat == 1 ? seed : MixSeed(seed, options.repeat);
}

class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options), scenario_(*options.scenario), seed_(SeedOf(options)) {}

  Record Go();

 private:
  Result<void> Main();
  Result<void> MakeFixtures();
  Result<void> Require();
  Result<void> SetUp();
  void LetBootWorkEnd();
  Result<void> Restore();
  void NoteClock();
  void AuditHere();
  Result<PhaseRecord> RunPhase(const PhaseSpec& phase, uint32_t index);
  void Settle(const PhaseSpec& phase, PhaseRecord* record);
  std::unique_ptr<OccupancySource> SourceFor(const std::vector<Queue>& queues) const;

  const Queue& QueueOf(const QueueRef& ref) const;
  bool Interrupted() const { return options_.interrupted && options_.interrupted(); }
  void Event(std::string text) {
    record_.events.push_back({executor_->NowNs() - began_ns_, std::move(text)});
  }
  void Progress(const std::string& phase, uint32_t index, int64_t elapsed_ns, int64_t length_ns) {
    if (!options_.progress) return;
    options_.progress(
        {phase, index, static_cast<uint32_t>(scenario_.phases.size()), elapsed_ns, length_ns});
  }

  const RunOptions& options_;
  const Scenario& scenario_;
  const uint64_t seed_;
  Record record_;
  std::unique_ptr<PhaseExecutor> executor_;
  TagWaits waits_;
  const SimExecutor* sim_ = nullptr;  // executor_, when the scenario is simulated
  FixtureContext context_;
  std::vector<std::unique_ptr<Fixture>> fixtures_;  // as in the scenario
  size_t set_up_ = 0;                               // how many of them stand
  int64_t began_ns_ = 0;
  std::optional<Error> broken_;  // a worker, in the last phase
};

const Queue& Run::QueueOf(const QueueRef& ref) const {
  for (size_t i = 0; i < scenario_.fixtures.size(); i++) {
    if (scenario_.fixtures[i].name != ref.fixture) continue;
    CHECK(ref.index < fixtures_[i]->queues().size());
    return fixtures_[i]->queues()[ref.index];
  }
  CHECK(false && "the reader checked every queue reference");
}

Result<void> Run::MakeFixtures() {
  context_.fs = options_.fs;
  context_.modules = options_.modules;
  context_.journal = options_.journal;
  context_.nvme = options_.nvme;
  context_.destroy = options_.destroy;
  context_.sleep = [this](int64_t ns) {
    return executor_->Sleep(ns, [this] { return Interrupted(); });
  };
  for (const FixtureSpec& spec : scenario_.fixtures) {
    const FixtureInfo* info = FindFixture(spec.kind);
    CHECK(info != nullptr);
    fixtures_.push_back(info->create(spec.name, spec.params, context_));
  }
  return {};
}

Result<void> Run::Require() {
  for (const auto& fixture : fixtures_) RETURN_IF_ERROR(fixture->Require());
  std::set<std::string> engines;
  for (const PhaseSpec& phase : scenario_.phases) {
    for (const std::string& job : phase.jobs) {
      engines.insert(scenario_.JobInPhase(phase, job)->engine);
    }
  }
  for (const std::string& name : engines) {
    const EngineInfo* engine = FindEngine(name);
    CHECK(engine != nullptr);
    RETURN_IF_ERROR(engine->probe());
  }
  return {};
}

Result<void> Run::SetUp() {
  for (size_t i = 0; i < fixtures_.size(); i++) {
    const FixtureSpec& spec = scenario_.fixtures[i];
    Progress("set up " + spec.name, 0, 0, 0);
    RETURN_IF_ERROR(fixtures_[i]->SetUp());
    set_up_ = i + 1;
    const FixtureFacts& facts = fixtures_[i]->facts();
    record_.fixtures.push_back({spec.name, spec.kind, facts.tags.shared, facts.tags.nr_tags,
                                facts.tags.nr_reserved_tags, facts.tags.nr_hw_queues,
                                facts.settings});
    const std::string_view time_note = FindFixture(spec.kind)->time_note;
    if (options_.time_name == "virtual" && !time_note.empty()) {
      record_.fixtures.back().settings.emplace_back(kNoteSetting, time_note);
    }
    Event(fmt::format("fixture {} is up: {} queues", spec.name, fixtures_[i]->queues().size()));
  }
  return {};
}

// Everything that stands comes down, in reverse, whatever fails on the way.
Result<void> Run::Restore() {
  std::string failures;
  while (set_up_ > 0) {
    set_up_--;
    Progress("restore " + scenario_.fixtures[set_up_].name, 0, 0, 0);
    if (auto done = fixtures_[set_up_]->TearDown(); !done) {
      failures += (failures.empty() ? "" : "; ") + done.error().message;
    }
  }
  if (failures.empty()) return {};
  return Fail(ErrorKind::kKernel, "restore: " + failures);
}

// Before the phases, so that a run that dies has it; and after them, with the end check.
void Run::NoteClock() {
  const ClockFacts clock = executor_->clock_facts();
  record_.environment.clock = clock.source;
  record_.environment.clock_why = clock.why;
  record_.environment.clock_read_cost_ns = clock.read_cost_ns;
  record_.environment.clock_in_user_space = clock.in_user_space;
  record_.environment.clock_drift_ppm = clock.drift_ppm;
  record_.environment.clock_suspect = clock.suspect;
}

// A guest's machine is audited where it stands: outside.
void Run::AuditHere() {
  const bool real_time = options_.time_name == "real";
  Audit& audit = record_.environment.audit;
  AuditKernel(*options_.fs, ReadKernelLog(), real_time, &audit);
  if (options_.executor_name == "guest") {
    AuditMemory(*options_.fs, &audit);
  } else {
    AuditMachine(*options_.fs, real_time, &audit);
  }
}

std::unique_ptr<OccupancySource> Run::SourceFor(const std::vector<Queue>& queues) const {
  if (sim_ == nullptr) return std::make_unique<DebugfsOccupancy>(*options_.fs, queues);
  return std::make_unique<SimOccupancy>([this]() -> const SimWorld& { return sim_->world(); },
                                        queues);
}

void Run::Settle(const PhaseSpec& phase, PhaseRecord* record) {
  std::vector<Queue> queues;
  std::vector<uint32_t> idle_users;  // of the set of each
  for (const auto& fixture : fixtures_) {
    const TagSetFacts& tags = fixture->facts().tags;
    if (!tags.shared) continue;
    queues.insert(queues.end(), fixture->queues().begin(), fixture->queues().end());
    idle_users.resize(queues.size(), tags.idle_users);
  }
  const int64_t began_ns = executor_->NowNs();
  const std::unique_ptr<OccupancySource> source = SourceFor(queues);
  std::vector<TagReading> readings(queues.size());
  while (true) {
    source->Read(readings);
    record->settled = true;
    for (size_t i = 0; i < readings.size(); i++) {
      if (readings[i].active_queues.value_or(0) > idle_users[i]) record->settled = false;
    }
    record->settle_ns = executor_->NowNs() - began_ns;
    if (record->settled || record->settle_ns >= phase.settle_ns) return;
    Progress("settle " + phase.name, 0, record->settle_ns, phase.settle_ns);
    if (!executor_->Sleep(kSettlePollNs, [this] { return Interrupted(); })) return;
  }
}

Result<PhaseRecord> Run::RunPhase(const PhaseSpec& phase, uint32_t index) {
  PhaseRecord record;
  record.name = phase.name;
  record.solo = phase.solo;
  Settle(phase, &record);
  record.nudge_ns = static_cast<int64_t>(MixSeed(seed_, HashOf(phase.name)) % kNudgeMaxNs);
  executor_->Sleep(record.nudge_ns, [this] { return Interrupted(); });

  PhasePlan plan;
  plan.ramp_ns = scenario_.LastStartNs(phase) + phase.ramp_ns;
  plan.runtime_ns = phase.runtime_ns;
  plan.series_cell_ns = scenario_.window_ns;
  record.series_cell_ns = plan.series_cell_ns;
  plan.sample_interval_ns = scenario_.occupancy_interval_ns;
  for (const std::string& name : phase.jobs) {
    const JobSpec* job = scenario_.JobInPhase(phase, name);
    CHECK(job != nullptr);
    for (uint32_t clone = 0; clone < job->numjobs; clone++) {
      const uint64_t seed = MixSeed(MixSeed(seed_, HashOf(name)), job->seed + clone);
      plan.jobs.push_back({job, clone, &QueueOf(job->queue), seed});
    }
  }
  const std::vector<Queue> queues = QueuesOf(plan);
  std::vector<MeteredSet> sets;
  for (const FixtureRecord& fixture : record_.fixtures) {
    sets.push_back({fixture.name, fixture.shared, fixture.nr_tags - fixture.nr_reserved_tags});
  }
  const int64_t length_ns = plan.ramp_ns + plan.runtime_ns;
  const std::unique_ptr<OccupancySource> source = SourceFor(queues);
  const auto samples_max =
      static_cast<uint32_t>(length_ns / std::max<int64_t>(1, plan.sample_interval_ns) + 2);
  OccupancyMeter meter(MeteredQueuesOf(plan, queues), sets, source.get(), samples_max);

  PhaseHooks hooks;
  hooks.interrupted = [this] { return Interrupted(); };
  hooks.progress = [&](int64_t elapsed_ns) { Progress(phase.name, index, elapsed_ns, length_ns); };
  hooks.sample = [&](int64_t at_ns) { meter.Sample(at_ns); };
  std::optional<KernelCounters> counters;
  if (sim_ == nullptr) {
    counters.emplace(*options_.fs, waits_, queues);
    hooks.window_opens = [&](int64_t at_ns) { counters->ReadAtOpen(at_ns); };
    hooks.window_closes = [&](int64_t at_ns) { counters->ReadAtClose(at_ns); };
  }
  Event(fmt::format("phase {} starts", phase.name));
  hooks.progress(0);
  ASSIGN_OR_RETURN(PhaseResult result, executor_->RunPhase(plan, hooks));
  broken_ = std::move(result.broken);
  FillPhaseRecord(queues, std::move(result), &record);
  meter.Finish(record.window_open_ns, record.window_close_ns, &record.queues, &record.tag_sets);
  if (counters) counters->Finish(&record.queues);
  CrossCheckOccupancy(scenario_, &record);
  Event(fmt::format("phase {} ends", phase.name));
  return record;
}

void Run::LetBootWorkEnd() {
  const auto work = WaitForBootWork(*options_.fs, options_.boot_work_limit_ns, [&](int64_t ns) {
    executor_->Sleep(ns, [this] { return Interrupted(); });
  });
  if (!work || work->waited_ns == 0) return;
  record_.environment.boot_wait_ns = work->waited_ns;
  record_.environment.boot_work_ended = work->ended;
}

Result<void> Run::Main() {
  RETURN_IF_ERROR(CheckForeignUse(scenario_, options_.executor_name, options_.destroy));
  RETURN_IF_ERROR(MakeFixtures());
  RETURN_IF_ERROR(Require());
  if (sim_ == nullptr) {
    ReadEnvironment(*options_.fs, &record_.environment);
    LetBootWorkEnd();
    AuditHere();
  }
  NoteClock();
  RETURN_IF_ERROR(SetUp());
  for (const FixtureRecord& fixture : record_.fixtures) {
    AuditFixture(scenario_, fixture, &record_.environment.audit);
  }
  if (sim_ == nullptr) waits_.Start(context_);
  uint32_t index = 0;
  for (const PhaseSpec& phase : scenario_.phases) {
    if (Interrupted())
      return Fail(ErrorKind::kInterrupted, "interrupted before phase " + phase.name);
    ASSIGN_OR_RETURN(PhaseRecord record, RunPhase(phase, ++index));
    record_.phases.push_back(std::move(record));
    if (options_.phase_done) options_.phase_done(record_.phases.back());
    if (broken_) {
      broken_->message = "phase " + phase.name + ": " + broken_->message;
      return Fail(*broken_);
    }
  }
  if (Interrupted()) return Fail(ErrorKind::kInterrupted, "interrupted");
  return {};
}

Record Run::Go() {
  record_.tool_version = kVersion;
  record_.scenario_name = scenario_.name;
  record_.scenario_toml = options_.canonical_toml;
  record_.scenario_hash = options_.scenario_hash;
  record_.seed = scenario_.seed;
  record_.repeat = options_.repeat;
  record_.environment.executor = options_.executor_name;
  record_.environment.time = options_.time_name;
  if (IsSimulated(scenario_)) {
    auto sim = std::make_unique<SimExecutor>();
    sim_ = sim.get();
    executor_ = std::move(sim);
  } else {
    executor_ = std::make_unique<ThreadExecutor>(options_.fs);
  }
  began_ns_ = executor_->NowNs();
  const Result<void> done = Main();
  NoteClock();
  const Result<void> stopped = waits_.Release();
  const Result<void> restored = Restore();
  record_.outcome = RunOutcome::kComplete;
  if (!done) {
    record_.outcome_why = done.error().message;
    switch (done.error().kind) {
      case ErrorKind::kUnmet:
        record_.outcome = RunOutcome::kUnmet;
        break;
      case ErrorKind::kInterrupted:
        record_.outcome = RunOutcome::kInterrupted;
        break;
      default:
        record_.outcome = RunOutcome::kError;
        break;
    }
  }
  for (const Result<void>& undone : {stopped, restored}) {
    if (undone) continue;
    record_.outcome = RunOutcome::kError;
    record_.outcome_why += (record_.outcome_why.empty() ? "" : "; ") + undone.error().message;
  }
  return std::move(record_);
}

}  // namespace

Record RunScenario(const RunOptions& options) {
  CHECK(options.scenario != nullptr);
  return Run(options).Go();
}

std::vector<AuditFinding> AuditThisMachine(bool real_time) {
  Audit audit;
  AuditMachine(KernelFs(KernelRoots::Real()), real_time, &audit);
  return audit;
}

void AuditByConfig(std::string_view config, std::vector<AuditFinding>* audit) {
  AuditConfig(config, audit);
}

bool IsSimulated(const Scenario& scenario) {
  return std::none_of(scenario.fixtures.begin(), scenario.fixtures.end(), [](const auto& spec) {
    const FixtureInfo* info = FindFixture(spec.kind);
    return info == nullptr || info->needs_kernel;
  });
}

}  // namespace blkfair
