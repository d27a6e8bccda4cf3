#include "tests/support/guest_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/check.h"
#include "harness/guest/guest.h"
#include "harness/run/catalog.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"

namespace blkfair::testing_support {

namespace fs = std::filesystem;

namespace {

constexpr int kGuestsAtATime = 2;

Record RunOne(const GuestRun& run) {
  const auto kernel = ResolveKernel(run.kernel, [](const std::string&) {});
  if (!kernel) {
    Record record;
    record.outcome_why = kernel.error().message;
    return record;
  }
  std::string folder = testing::TempDir() + "/blkfair-guest-XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  const Scenario scenario = ReadScenario(run.scenario, run.overrides);
  GuestOptions options;
  options.kernel = *kernel;
  options.time = run.time;
  options.init_executable = BLKFAIR_GUEST_INIT;
  options.work_folder = folder;
  options.console_file = folder + "/console.log";
  Record record = RunInGuest(scenario, CanonicalToml(scenario, TheCatalog()), options);
  fs::remove_all(folder);
  return record;
}

const PhaseRecord& PhaseOf(const Record& record, const std::string& phase) {
  const PhaseRecord* found = record.FindPhase(phase);
  CHECK(found != nullptr);
  return *found;
}

}  // namespace

std::string SmallKernel(const std::string& name) {
  const char* folder = std::getenv("BLKFAIR_TEST_KERNELS");
  const std::string path =
      (folder != nullptr ? std::string(folder) : BLKFAIR_SOURCE_DIR "/../shared/kernels") + "/" +
      name + ".bzImage";
  return fs::exists(path) ? path : std::string();
}

Scenario ReadScenario(const std::string& name, const std::vector<std::string>& overrides) {
  auto scenario = name.find('\n') != std::string::npos
                      ? ParseScenario(name, "inline", TheCatalog(), overrides)
                      : ReadScenarioFile(BLKFAIR_SOURCE_DIR "/scenarios/" + name + ".toml",
                                         TheCatalog(), overrides);
  if (!scenario) {
    for (const Diagnostic& problem : scenario.error()) ADD_FAILURE() << problem.ToString();
  }
  CHECK(scenario.has_value());
  return std::move(*scenario);
}

std::vector<Record> RunInGuests(const std::vector<GuestRun>& runs) {
  std::vector<Record> records(runs.size());
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kGuestsAtATime; i++) {
    threads.emplace_back([&] {
      for (size_t at = next++; at < runs.size(); at = next++) records[at] = RunOne(runs[at]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < runs.size(); i++) {
    EXPECT_EQ(records[i].outcome, runs[i].outcome)
        << runs[i].scenario.substr(0, runs[i].scenario.find('\n')) << " on " << runs[i].kernel
        << ": " << records[i].outcome_why;
  }
  return records;
}

Judgement JudgeRun(const GuestRun& run, const Record& record) {
  return Judge(ReadScenario(run.scenario, run.overrides), {&record, 1});
}

const Verdict* FindVerdict(const Judgement& judgement, const std::string& assertion) {
  for (const Verdict& verdict : judgement.verdicts) {
    if (verdict.assertion == assertion) return &verdict;
  }
  return nullptr;
}

double IopsOf(const Record& record, const std::string& phase, const std::string& job) {
  uint64_t ios = 0;
  for (const JobRecord& row : PhaseOf(record, phase).jobs) {
    if (row.job != job) continue;
    for (const DirectionRecord& direction : row.directions) ios += direction.ios;
  }
  return static_cast<double>(ios) * 1e9 / static_cast<double>(PhaseOf(record, phase).window_ns());
}

LatencyStats LatencyOf(const Record& record, const std::string& phase, const std::string& job) {
  LatencyStats merged;
  for (const JobRecord& row : PhaseOf(record, phase).jobs) {
    if (row.job != job) continue;
    for (const DirectionRecord& direction : row.directions) merged.Merge(direction.lat);
  }
  return merged;
}

const QueueRecord& QueueOf(const Record& record, const std::string& phase,
                           const std::string& queue) {
  for (const QueueRecord& row : PhaseOf(record, phase).queues) {
    if (row.queue == queue) return row;
  }
  CHECK(false && "the phase has no such queue");
}

}  // namespace blkfair::testing_support
