#include "tests/support/record_builder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "results/fairness/assertion.h"

namespace blkfair::testing {

namespace {

constexpr int64_t kRampNs = 1'000'000'000;
constexpr int64_t kWindowNs = 10'000'000'000;
constexpr uint32_t kTags = 64;
constexpr uint32_t kSamples = 200;

JobSpec MakeJob(std::string name, uint32_t queue, std::string engine, uint64_t bs_bytes,
                uint32_t iodepth) {
  JobSpec job;
  job.name = std::move(name);
  job.queue = QueueRef{"pair", queue};
  job.engine = std::move(engine);
  job.bs_bytes = bs_bytes;
  job.iodepth = iodepth;
  return job;
}

PhaseSpec MakePhaseSpec(std::string name, std::vector<std::string> jobs) {
  PhaseSpec phase;
  phase.solo = jobs.size() == 1;
  phase.name = std::move(name);
  phase.jobs = std::move(jobs);
  phase.settle_ns = 10'000'000'000;
  phase.ramp_ns = kRampNs;
  phase.runtime_ns = kWindowNs;
  return phase;
}

JobRecord MakeJobRecord(const JobSpec& spec, const JobFigures& figures, uint32_t clone) {
  const auto ios = static_cast<uint64_t>(
      std::llround(figures.iops * static_cast<double>(kWindowNs) * 1e-9 / spec.numjobs));
  JobRecord job;
  job.job = spec.name;
  job.clone = clone;
  job.queue = figures.queue;
  job.engine = spec.engine;
  job.issue_point = "after the submitting call";
  job.iodepth = spec.iodepth;
  DirectionRecord read;
  read.direction = "read";
  read.ios = ios;
  read.bytes = ios * spec.bs_bytes;
  constexpr int64_t kSlatNs = 2'000;
  read.slat = MakeLatency(ios, kSlatNs, kSlatNs, 0);
  read.clat = MakeLatency(ios, figures.typical_ns - kSlatNs, figures.tail_ns - kSlatNs,
                          figures.tail_fraction);
  read.lat = MakeLatency(ios, figures.typical_ns, figures.tail_ns, figures.tail_fraction);
  job.directions.push_back(std::move(read));
  job.series = {SeriesCell{ios / 100, ios / 100 * spec.bs_bytes, 12'345'678, figures.tail_ns, 1}};
  job.gap_max_ns = figures.gap_ns;
  job.gap_max_at_ns = kRampNs + 3'000'000'000;
  job.in_flight_at_close = spec.iodepth;
  job.ios_trimmed = ios / 10;
  job.ios_drained = spec.iodepth;
  job.depth_mean = spec.iodepth;
  job.depth_max = spec.iodepth;
  job.submit_calls = ios;
  job.submit_sizes = {{1, ios}};
  job.reap_calls = ios;
  return job;
}

QueueRecord MakeQueueRecord(const JobFigures& figures, uint32_t demand, const JobRecord& job,
                            uint32_t clones) {
  QueueRecord queue;
  queue.queue = figures.queue;
  queue.demand = demand;
  queue.ios = job.directions.front().ios * clones;
  queue.bytes = job.directions.front().bytes * clones;
  queue.gap_max_ns = figures.gap_ns;
  queue.series = job.series;
  OccupancyRecord occupancy;
  occupancy.source = "active";
  occupancy.why = "it agrees with the entries of busy";
  occupancy.samples = kSamples;
  occupancy.mean = figures.tags;
  occupancy.p95 = std::ceil(figures.tags);
  occupancy.max = static_cast<uint32_t>(std::ceil(figures.tags));
  occupancy.active_mean = figures.tags;
  occupancy.busy_mean = figures.tags;
  occupancy.service_mean = figures.tags;
  occupancy.waiting_mean = demand - figures.tags;
  queue.occupancy = occupancy;
  KernelCountersRecord kernel;
  kernel.open_at_ns = kRampNs + 40'000;
  kernel.close_at_ns = kRampNs + kWindowNs + 40'000;
  kernel.time_is_tag_time = true;
  kernel.counts = {{"read", queue.ios, 0, queue.bytes,
                    static_cast<int64_t>(figures.tags * static_cast<double>(kWindowNs))}};
  queue.kernel = kernel;
  return queue;
}

}  // namespace

LatencyStats MakeLatency(uint64_t samples, int64_t typical_ns, int64_t tail_ns,
                         double tail_fraction) {
  LatencyStats stats;
  const auto tail =
      static_cast<uint64_t>(std::llround(static_cast<double>(samples) * tail_fraction));
  for (uint64_t i = 0; i < samples; i++) stats.Add(i < tail ? tail_ns : typical_ns);
  return stats;
}

Scenario LopsidedScenario() {
  Scenario scenario;
  scenario.name = "lopsided_null_blk";
  scenario.situation =
      "Two queues share 64 tags. One has 256 slow requests waiting at any time, the other asks for "
      "one small, fast request at a time.";
  scenario.expectation =
      "The deep queue holds its half of the tags and no more, and the shallow one hardly notices "
      "that it is there.";
  scenario.why =
      "Without fair sharing the deep queue takes all tags, and the shallow one waits for slow "
      "requests that are not its own.";
  FixtureSpec pair;
  pair.name = "pair";
  pair.kind = "null_blk";
  pair.queues = 2;
  scenario.fixtures = {pair};
  scenario.jobs = {MakeJob("heavy", 0, "libaio", 4096, 256), MakeJob("light", 1, "libaio", 512, 1)};
  scenario.phases = {MakePhaseSpec("solo_heavy", {"heavy"}), MakePhaseSpec("solo_light", {"light"}),
                     MakePhaseSpec("contention", {"heavy", "light"})};
  return scenario;
}

std::vector<AssertSpec> LopsidedAsserts() {
  using Names = std::vector<std::string>;
  const std::vector<std::string> contention = {"contention"};
  std::vector<AssertSpec> asserts = {
      MakeAssert("slowdown", contention, {{"job", "light"}, {"metric", "iops"}, {"max", 1.3}}),
      MakeAssert("slowdown", contention, {{"job", "light"}, {"metric", "lat_p99"}, {"max", 5.0}}),
      MakeAssert("share", contention,
                 {{"of", "tags"}, {"queues", Names{"pair:0"}}, {"min", 0.45}, {"max", 0.55}}),
      MakeAssert("gap", contention, {{"job", "light"}, {"max", int64_t{50'000'000}}}),
      MakeAssert("gap", contention, {{"job", "heavy"}, {"max", int64_t{500'000'000}}}),
      MakeAssert("work_conservation", {"solo_heavy"}, {{"of", "tags"}, {"min", 0.9}},
                 Contention::kAny)};
  const char* names[] = {"light_rate",  "light_tail",  "heavy_tags",
                         "light_moves", "heavy_moves", "heavy_alone_uses_all"};
  for (size_t i = 0; i < asserts.size(); i++) asserts[i].name = names[i];
  return asserts;
}

PhaseRecord MakePhase(const Scenario& scenario, const std::string& name,
                      const std::vector<JobFigures>& jobs) {
  PhaseRecord phase;
  phase.name = name;
  phase.solo = jobs.size() == 1;
  phase.settle_ns = 2'500'000'000;
  phase.window_open_ns = kRampNs;
  phase.window_close_ns = kRampNs + kWindowNs;
  TagSetPhaseRecord set;
  set.fixture = "pair";
  set.usable_tags = kTags;
  set.samples = kSamples;
  set.active_queues_mean = static_cast<double>(jobs.size());
  set.wake_batch = 4;
  for (const JobFigures& figures : jobs) {
    const JobSpec* spec = scenario.JobInPhase(name, figures.job);
    CHECK(spec != nullptr);
    for (uint32_t clone = 0; clone < spec->numjobs; clone++) {
      phase.jobs.push_back(MakeJobRecord(*spec, figures, clone));
    }
    const uint32_t demand = spec->iodepth * spec->numjobs;
    phase.queues.push_back(MakeQueueRecord(figures, demand, phase.jobs.back(), spec->numjobs));
    set.demand += demand;
  }
  set.samples_contended = set.demand > kTags ? kSamples : 0;
  phase.tag_sets = {set};
  phase.sampling = SamplingRecord{kSamples, 8'000'000, 35'000, 410'000, "0"};
  return phase;
}

Record MakeRecord(const Scenario& scenario) {
  Record record;
  record.tool_version = "0.1.0";
  record.scenario_name = scenario.name;
  record.scenario_hash = "3f2a9c11d0e24b5c8d7e6f50112233445566778899aabbccddeeff0011223344";
  record.scenario_toml = "name = \"" + scenario.name + "\"\n";
  record.seed = scenario.seed;
  record.outcome = RunOutcome::kComplete;
  record.environment.executor = "guest";
  record.environment.time = "virtual";
  record.environment.kernel_release = "6.12.117";
  record.environment.kernel_version = "#1 SMP Debian";
  record.environment.cpus = 1;
  record.environment.memory_bytes = uint64_t{1024} << 20;
  record.environment.clock = "CLOCK_MONOTONIC";
  record.environment.clock_why = "the CPU does not promise an invariant TSC";
  record.environment.clocksource = "tsc";
  record.environment.clock_read_cost_ns = 31.25;
  record.environment.clock_in_user_space = true;
  record.environment.clock_drift_ppm = 0.5;
  record.environment.audit = {{"kasan", "off", ""},
                              {"lockdep", "off", ""},
                              {"pair.scheduler", "none", ""},
                              {"accelerator", "TCG, instructions counted", ""}};
  FixtureRecord pair;
  pair.name = "pair";
  pair.kind = "null_blk";
  pair.shared = true;
  pair.nr_tags = kTags;
  pair.nr_hw_queues = 1;
  pair.settings = {{"pair:0 scheduler", "none"},
                   {"pair:0 completion_nsec", "100000000"},
                   {"pair:1 scheduler", "none"},
                   {"pair:1 completion_nsec", "1000000"}};
  record.fixtures = {pair};
  record.events = {EventRecord{0, "set up"}, EventRecord{33'000'000'000, "restored"}};
  record.host.started = "2026-11-30T15:42:17Z";
  record.host.wall_seconds = 61.5;
  record.host.kernel = "debian:6.12";
  record.host.audit = {{"load", "12 % of the CPUs busy", ""}, {"memory", "enough", ""}};
  return record;
}

Record StockRecord(const Scenario& scenario) {
  Record record = MakeRecord(scenario);
  record.phases = {
      MakePhase(scenario, "solo_heavy",
                {{"heavy", "pair:0", 617, 414'000'000, 420'000'000, 0.02, 101'000'000, 62.9}}),
      MakePhase(scenario, "solo_light",
                {{"light", "pair:1", 920, 1'080'000, 1'300'000, 0.02, 2'100'000, 0.92}}),
      MakePhase(scenario, "contention",
                {{"heavy", "pair:0", 311, 822'000'000, 830'000'000, 0.02, 102'000'000, 31.9},
                 {"light", "pair:1", 907, 1'086'000, 1'460'000, 0.02, 3'000'000, 0.91}})};
  return record;
}

Record NofairRecord(const Scenario& scenario) {
  Record record = StockRecord(scenario);
  PhaseIn(record, "contention") =
      MakePhase(scenario, "contention",
                {{"heavy", "pair:0", 617, 414'000'000, 420'000'000, 0.02, 101'000'000, 62.8},
                 {"light", "pair:1", 215, 1'090'000, 73'000'000, 0.0495, 104'000'000, 0.22}});
  return record;
}

AssertSpec MakeAssert(std::string kind, std::vector<std::string> phases,
                      std::vector<std::pair<std::string_view, ParamValue>> params,
                      Contention contention) {
  AssertSpec spec;
  spec.name = kind;
  spec.kind = std::move(kind);
  spec.phases = std::move(phases);
  spec.contention = contention;
  const AssertionInfo* info = FindAssertion(spec.kind);
  CHECK(info != nullptr);
  for (const ParamSpec& param : info->params) {
    if (!param.default_text.empty()) {
      spec.params.Set(param.name, std::string(param.default_text));
    }
  }
  for (auto& [name, value] : params) spec.params.Set(name, std::move(value));
  return spec;
}

JobRecord& JobIn(PhaseRecord& phase, std::string_view job) {
  const auto it = std::find_if(phase.jobs.begin(), phase.jobs.end(),
                               [&](const JobRecord& record) { return record.job == job; });
  CHECK(it != phase.jobs.end());
  return *it;
}

PhaseRecord& PhaseIn(Record& record, std::string_view phase) {
  const auto it = std::find_if(record.phases.begin(), record.phases.end(),
                               [&](const PhaseRecord& row) { return row.name == phase; });
  CHECK(it != record.phases.end());
  return *it;
}

}  // namespace blkfair::testing
