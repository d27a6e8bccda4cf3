#include "harness/cli/selftest_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/check.h"
#include "harness/cli/execute.h"
#include "harness/cli/interrupt.h"
#include "harness/run/catalog.h"
#include "harness/run/run.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"

namespace blkfair {

namespace {

constexpr const char* kHead = R"(
name = "selftest"
situation = "Two jobs on queues that share tags."
expectation = "What was planted is found, and nothing else."
why = "A ruler that was never held against a known length measures nothing."
occupancy_interval = "5ms"
)";

constexpr const char* kSimulatedSet = R"(
[[fixture]]
name = "set"
kind = "sim"
queues = 2
depth = 8
service_time = ["10ms", "1ms"]
service_cv = 0.2
)";

constexpr const char* kGuestSet = R"(
[[fixture]]
name = "set"
kind = "null_blk"
queues = 2
depth = 8
service_time = ["10ms", "1ms"]
scheduler = "none"
)";

constexpr const char* kRest = R"(
[[job]]
name = "heavy"
queue = "set:0"
engine = "ENGINE"
iodepth = 32

[[job]]
name = "light"
queue = "set:1"
engine = "ENGINE"

[[phase]]
name = "contention"
jobs = ["heavy", "light"]
settle = "SETTLE"
ramp = "100ms"
runtime = "1s"

[[assert]]
kind = "gap"
phase = "contention"
job = "light"
max = "500ms"

[[compare]]
phase = "contention"
job = "light"
metric = "iops"
margin = "2%"

[[compare]]
phase = "contention"
job = "light"
metric = "lat_p95"
margin = "2%"

[[compare]]
phase = "contention"
job = "heavy"
metric = "iops"
margin = "2%"
)";

std::string ScenarioText(bool simulated) {
  std::string rest = kRest;
  const auto replace = [&rest](std::string_view word, std::string_view by) {
    for (size_t at = rest.find(word); at != std::string::npos; at = rest.find(word)) {
      rest.replace(at, word.size(), by);
    }
  };
  replace("ENGINE", simulated ? "sim" : "libaio");
  replace("SETTLE", simulated ? "0s" : "6s");
  return kHead + std::string(simulated ? kSimulatedSet : kGuestSet) + rest;
}

Scenario ReadIt(bool simulated, const std::vector<Override>& overrides) {
  const auto scenario = ParseScenario(ScenarioText(simulated), "selftest", TheCatalog(), overrides);
  CHECK(scenario.has_value());
  return *scenario;
}

Record RunOnce(double heavy_ms, double light_ms, const std::string& policy, uint64_t seed) {
  const Scenario scenario =
      ReadIt(true, {fmt::format("fixture.set.service_time=[\"{:.0f}ns\", \"{:.0f}ns\"]",
                                heavy_ms * 1e6, light_ms * 1e6),
                    "fixture.set.policy=" + policy, fmt::format("seed={}", seed)});
  KernelFs fs(KernelRoots::Real());
  KmodModuleLoader modules;
  Journal journal = Journal::Discarding();
  RunOptions run;
  run.scenario = &scenario;
  run.canonical_toml = CanonicalToml(scenario, TheCatalog());
  run.scenario_hash = ScenarioHash(run.canonical_toml);
  run.executor_name = "sim";
  run.time_name = "simulated";
  run.fs = &fs;
  run.modules = &modules;
  run.journal = &journal;
  return RunScenario(run);
}

}  // namespace

Comparison SimulatedComparison(const Planted& planted, size_t repeats, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> spread(0, kRunSpread);
  const auto run = [&](double slower, const std::string& policy) {
    const double heavy_ms = 10 * std::exp(spread(random));
    const double light_ms = (1 + slower) * std::exp(spread(random));
    return RunOnce(heavy_ms, light_ms, policy, random() >> 1);
  };
  std::vector<Record> a;
  std::vector<Record> b;
  for (uint32_t i = 0; i < repeats; i++) {
    a.push_back(run(0, "fair"));
    b.push_back(run(planted.slower, planted.policy));
    a.back().repeat = b.back().repeat = i + 1;
  }
  CompareOptions options;
  options.declared = {"fixture.set.service_time", "fixture.set.policy", "seed"};
  return Compare(ReadIt(true, {}), a, b, options);
}

const ComparedMetric& PlantedRow(const Comparison& comparison) {
  CHECK(!comparison.metrics.empty());
  return comparison.metrics.front();  // the scenario's first [[compare]]
}

bool CallsAChange(const Comparison& comparison) {
  return std::any_of(comparison.metrics.begin(), comparison.metrics.end(),
                     [](const ComparedMetric& row) {
                       return row.change == Change::kWorse || row.change == Change::kBetter;
                     });
}

Result<std::vector<Comparison>> GuestComparisons(const Kernel& kernel, size_t count,
                                                 ProgressLine* progress) {
  LoadedScenario loaded;
  loaded.path = "selftest";
  loaded.scenario = ReadIt(false, {});
  loaded.canonical_toml = CanonicalToml(loaded.scenario, TheCatalog());
  loaded.hash = ScenarioHash(loaded.canonical_toml);
  std::vector<ExecuteTask> tasks;
  for (size_t i = 0; i < count * 2 * kSelftestRepeats; i++) {
    tasks.push_back({&loaded, {}});
    tasks.back().options.kernel = kernel;
    tasks.back().options.repeat = static_cast<uint32_t>(i + 1);
  }
  std::vector<std::optional<Result<Execution>>> results = ExecuteAll(tasks, progress, nullptr);
  if (InterruptFlag::Raised()) return Fail(ErrorKind::kInterrupted, "interrupted");
  std::vector<Comparison> comparisons;
  for (size_t i = 0; i < count; i++) {
    std::vector<Record> sides[2];
    for (size_t j = 0; j < size_t{2} * kSelftestRepeats; j++) {
      std::optional<Result<Execution>>& result = results[i * 2 * kSelftestRepeats + j];
      CHECK(result.has_value());
      if (!*result) return Fail(result->error());
      sides[j % 2].push_back(std::move((*result)->record));
    }
    comparisons.push_back(Compare(loaded.scenario, sides[0], sides[1], {}));
    if (comparisons.back().metrics.empty()) {
      return Fail(ErrorKind::kKernel, comparisons.back().conclusion);
    }
  }
  return comparisons;
}

}  // namespace blkfair
