// Cases of the windows of other tools that went wrong, each run as a whole scenario on simulated
// queues, recorded, and judged.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/run/catalog.h"
#include "harness/run/run.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"
#include "results/fairness/judge.h"
#include "results/fairness/metric.h"
#include "results/report/report.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"

namespace blkfair {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1000 * kMs;

constexpr const char* kHead = R"(
name = "case"
situation = "s"
expectation = "e"
why = "w"
contention = "any"
)";

struct Ran {
  Scenario scenario;
  Record record;
  Judgement judgement;

  const PhaseRecord& Phase(const std::string& name) const { return *record.FindPhase(name); }
  const JobRecord& Job(const std::string& phase, const std::string& job) const {
    return *FindSubject(Phase(phase), job)->jobs.at(0);
  }
  // Absent where the metric is.
  std::optional<double> Metric(const std::string& metric, const std::string& subject) const {
    const PhaseRecord& phase = record.phases.at(0);
    return ReadMetric(MetricByName(metric), *FindSubject(phase, subject)).value;
  }
  std::string JsonReportText() const {
    const std::vector<Record> records = {record};
    return JsonReport({&scenario, records, &judgement, "", ""});
  }
};

Ran RunToml(const std::string& toml) {
  Ran ran;
  auto scenario = ParseScenario(kHead + toml, "case.toml", TheCatalog(), {});
  EXPECT_TRUE(scenario.has_value()) << scenario.error()[0].ToString();
  if (!scenario) return ran;
  ran.scenario = std::move(*scenario);
  KernelFs fs(KernelRoots::Real());
  KmodModuleLoader modules;
  Journal journal = Journal::Discarding();
  RunOptions options;
  options.scenario = &ran.scenario;
  options.canonical_toml = CanonicalToml(ran.scenario, TheCatalog());
  options.executor_name = "sim";
  options.time_name = "simulated";
  options.fs = &fs;
  options.modules = &modules;
  options.journal = &journal;
  ran.record = RunScenario(options);
  ran.judgement = Judge(ran.scenario, {&ran.record, 1});
  return ran;
}

// A metric that an engine does not measure is absent everywhere; the others do not depend on it.
TEST(Latency, B02NotMeasuredIsNullAndNoSampleExceedsTheRun) {
  const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "1ms"
[[job]]
name = "a"
queue = "disk:0"
[[phase]]
name = "alone"
jobs = ["a"]
runtime = "2s"
[[assert]]
kind = "bound"
phase = "alone"
job = "a"
metric = "slat_mean"
max = "1s"
)");
  EXPECT_FALSE(ran.Metric("slat_mean", "a"));
  EXPECT_FALSE(ran.Metric("slat_p50", "a"));
  EXPECT_EQ(ran.Metric("lat_mean", "a"), 1e6);
  EXPECT_EQ(ran.Metric("clat_mean", "a"), 1e6);
  EXPECT_NE(ran.JsonReportText().find("\"slat_mean\": null"), std::string::npos);
  ASSERT_EQ(ran.judgement.verdicts.size(), 1u);
  EXPECT_EQ(ran.judgement.verdicts[0].outcome, Outcome::kInconclusive);
  const DirectionRecord& read = ran.Job("alone", "a").directions.at(0);
  EXPECT_FALSE(read.slat);
  EXPECT_EQ(read.lat.count(), read.ios);
  EXPECT_LT(read.lat.max_ns(), ran.Phase("alone").window_close_ns);
}

// An I/O belongs to the window in which it completes, wherever it began; nothing else of the ramp
// is left in it.
TEST(Window, B05RampLeavesNothingInTheWindow) {
  const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
depth = 4
service_time = "10ms"
service_cv = 0.3
stall_at = "300ms"
stall_for = "500ms"
[[job]]
name = "a"
queue = "disk:0"
iodepth = 8
[[phase]]
name = "alone"
jobs = ["a"]
ramp = "2s"
runtime = "2s"
)");
  const JobRecord& job = ran.Job("alone", "a");
  const DirectionRecord& read = job.directions.at(0);
  EXPECT_GT(*read.lat.min_ns(), kMs);
  EXPECT_LT(*read.lat.max_ns(), 200 * kMs) << "the stall of the ramp";
  EXPECT_LT(job.gap_max_ns, 200 * kMs);
  EXPECT_EQ(read.lat.count(), read.ios);
  EXPECT_EQ(read.lat.histogram().total(), read.ios);
  EXPECT_NEAR(job.depth_mean, 8, 1e-9);
  EXPECT_EQ(job.depth_max, 8u);
  // Four at a time, 10 ms each: within the window, not within the phase.
  EXPECT_NEAR(static_cast<double>(read.ios), 800, 40);
  EXPECT_GT(job.ios_trimmed, 500u);
  EXPECT_LE(job.ios_drained, 8u);
  uint64_t in_window = 0;
  for (size_t i = 20; i < 40; i++) in_window += job.series.at(i).ios;
  EXPECT_EQ(in_window, read.ios);
}

// Rates are completions over the one window in which every job of the phase runs, however late a
// job starts and however short the window is.
TEST(Window, B09RatesAreOverTheCommonWindow) {
  for (const auto& [runtime, ios] : {std::pair("2s", 2000), std::pair("300ms", 300)}) {
    const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "100us"
[[job]]
name = "a"
queue = "disk:0"
think_time = "900us"
[[job]]
name = "b"
queue = "disk:0"
think_time = "900us"
start_delay = "2s"
[[phase]]
name = "both"
jobs = ["a", "b"]
ramp = "1s"
runtime = ")" + std::string(runtime) +
                            "\"\n");
    EXPECT_EQ(ran.Phase("both").window_open_ns, 3 * kSecond);
    EXPECT_NEAR(*ran.Metric("iops", "a"), 1000, 10);
    EXPECT_NEAR(*ran.Metric("iops", "b"), 1000, 10);
    EXPECT_NEAR(*ran.Metric("iops", "disk:0"), 2000, 20);
    EXPECT_NEAR(static_cast<double>(ran.Job("both", "a").directions[0].ios), ios, 5);
    EXPECT_EQ(ran.Phase("both").queues[0].ios,
              ran.Job("both", "a").directions[0].ios + ran.Job("both", "b").directions[0].ios);
  }
}

// Ramp, then window, then stop, whichever is longer; a job that did nothing in the window has no
// figures, which is neither a pass nor a rate of zero.
TEST(Window, B11RampLongerThanRuntime) {
  const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 2
service_time = "1ms"
[[job]]
name = "reader"
queue = "disk:0"
rw = "randread"
[[job]]
name = "once"
queue = "disk:1"
think_time = "1h"
[[phase]]
name = "both"
jobs = ["reader", "once"]
ramp = "3s"
runtime = "1s"
[[assert]]
name = "reader_rate"
kind = "bound"
phase = "both"
job = "reader"
metric = "iops"
min = 900
[[assert]]
name = "once_rate"
kind = "bound"
phase = "both"
job = "once"
metric = "iops"
min = 0
)");
  EXPECT_EQ(ran.Phase("both").window_open_ns, 3 * kSecond);
  EXPECT_EQ(ran.Phase("both").window_ns(), kSecond);
  const JobRecord& reader = ran.Job("both", "reader");
  ASSERT_EQ(reader.directions.size(), 1u);
  EXPECT_EQ(reader.directions[0].direction, "read");
  EXPECT_EQ(reader.directions[0].ios, 1000u);
  EXPECT_EQ(reader.directions[0].lat.count(), 1000u);
  EXPECT_EQ(reader.ios_trimmed, 2999u);
  EXPECT_EQ(ran.Job("both", "once").ios_trimmed, 1u);
  EXPECT_FALSE(ran.Metric("iops", "once"));
  EXPECT_FALSE(ran.Metric("lat_mean", "once"));
  ASSERT_EQ(ran.judgement.verdicts.size(), 2u);
  EXPECT_EQ(ran.judgement.verdicts[0].outcome, Outcome::kPass);
  EXPECT_EQ(ran.judgement.verdicts[1].outcome, Outcome::kInconclusive);
  EXPECT_NE(ran.judgement.verdicts[1].why.find("did no I/O in the window"), std::string::npos);
}

// A device that never answers again keeps nobody: the window closes, what is out is awaited for a
// bounded time, and then it is an error with its number.
TEST(Window, B13AHungDeviceEndsTheRunInBoundedTime) {
  const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "1ms"
stall_at = "2s"
stall_for = "24h"
[[job]]
name = "a"
queue = "disk:0"
iodepth = 5
[[phase]]
name = "alone"
jobs = ["a"]
settle = "0s"
runtime = "10s"
[[assert]]
kind = "bound"
phase = "alone"
job = "a"
metric = "iops"
min = 1
)");
  const JobRecord& job = ran.Job("alone", "a");
  EXPECT_EQ(job.outstanding, 5u);
  EXPECT_EQ(job.in_flight_at_close, 5u);
  EXPECT_TRUE(job.gap_censored);
  EXPECT_GT(job.gap_max_ns, 8 * kSecond);
  EXPECT_EQ(ran.Phase("alone").window_ns(), 10 * kSecond);
  EXPECT_LT(ran.record.events.back().at_ns, 40 * kSecond);
  ASSERT_EQ(ran.judgement.verdicts.size(), 1u);
  EXPECT_EQ(ran.judgement.verdicts[0].outcome, Outcome::kError);
  EXPECT_EQ(ran.judgement.verdicts[0].why, "5 I/Os of a never came back");
  EXPECT_EQ(ran.judgement.exit_code, 3);
}

// A stall of one second is one slow I/O to a loop that waits for it, and a thousand late ones to
// those who asked for an I/O each millisecond.
constexpr const char* kStalledRate = R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "100us"
stall_at = "6s"
stall_for = "1s"
[[job]]
name = "a"
queue = "disk:0"
rate_iops = 1000
[[phase]]
name = "alone"
jobs = ["a"]
runtime = "10s"
[[assert]]
kind = "bound"
phase = "alone"
job = "a"
metric = "response_p99"
max = "1s"
)";

TEST(OpenLoop, B07AStallIsAThousandLateRequests) {
  const Ran ran = RunToml(kStalledRate);
  const OpenLoopRecord& open = *ran.Job("alone", "a").open_loop;
  EXPECT_EQ(open.rate_iops, 1000);
  EXPECT_EQ(open.process, "fixed");
  EXPECT_EQ(open.due, 10'000u);
  EXPECT_NEAR(static_cast<double>(open.late), 1110, 10);
  EXPECT_NEAR(static_cast<double>(open.backlog_max), 999, 3);
  EXPECT_EQ(open.backlog_at_close, 0u);
  EXPECT_EQ(open.behind_ns, 0);
  EXPECT_NEAR(*ran.Metric("iops", "a"), 1000, 1);
  EXPECT_NEAR(*ran.Metric("response_p95", "a"), 0.55e9, 0.01e9);
  EXPECT_NEAR(*ran.Metric("response_p99", "a"), 0.91e9, 0.01e9);
  EXPECT_NEAR(*ran.Metric("response_max", "a"), 1e9, 0.002e9);
  EXPECT_NEAR(*ran.Metric("response_p50", "a"), 100e3, 1e3);
  EXPECT_NEAR(*ran.Metric("lat_p99", "a"), 100e3, 1e3);
  EXPECT_NEAR(*ran.Metric("lat_max", "a"), 1e9, 0.002e9);
  const DirectionRecord& read = ran.Job("alone", "a").directions.at(0);
  EXPECT_EQ(read.response->count(), read.ios);
  ASSERT_EQ(ran.judgement.verdicts.size(), 1u);
  EXPECT_EQ(ran.judgement.verdicts[0].outcome, Outcome::kPass) << ran.judgement.verdicts[0].why;
  const std::vector<Record> records = {ran.record};
  const std::string text = TextReport({&ran.scenario, records, &ran.judgement, "", ""}, false);
  EXPECT_NE(text.find("1000 a second (fixed)"), std::string::npos) << text;
  EXPECT_NE(text.find("1110 of 10000 found no free slot when they were due; backlog "),
            std::string::npos)
      << text;
  EXPECT_NE(ran.JsonReportText().find("\"rate_iops\": 1000"), std::string::npos);
}

// A closed loop sees nothing of it, and says that it has no response times.
TEST(OpenLoop, B07AClosedLoopSeesOneSlowRequest) {
  const std::string closed = std::string(kStalledRate)
                                 .replace(std::string(kStalledRate).find("rate_iops = 1000"), 16,
                                          "think_time = \"900us\"");
  const Ran ran = RunToml(closed);
  EXPECT_FALSE(ran.Job("alone", "a").open_loop);
  EXPECT_NEAR(*ran.Metric("lat_p99", "a"), 100e3, 1e3);
  EXPECT_FALSE(ran.Metric("response_p99", "a"));
  EXPECT_EQ(ran.judgement.verdicts.at(0).outcome, Outcome::kInconclusive);
  EXPECT_NE(ran.judgement.verdicts[0].why.find("of jobs with rate_iops"), std::string::npos);
}

// The rate that was offered and what the CPU does when it is idle stand in the record: at a low
// rate each I/O pays for waking up.
TEST(OpenLoop, B08OfferedRateIsInTheRecord) {
  for (const char* process : {"fixed", "poisson"}) {
    const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "100us"
[[job]]
name = "a"
queue = "disk:0"
iodepth = 16
numjobs = 2
rate_iops = 300
rate_process = ")" + std::string(process) +
                            R"("
[[phase]]
name = "alone"
jobs = ["a"]
runtime = "20s"
)");
    for (const JobRecord& clone : ran.Phase("alone").jobs) {
      EXPECT_EQ(clone.open_loop->rate_iops, 300);
      EXPECT_EQ(clone.open_loop->process, process);
      EXPECT_NEAR(static_cast<double>(clone.open_loop->due), 6000, 200);
      EXPECT_EQ(clone.open_loop->late, 0u);
      EXPECT_EQ(*clone.directions[0].response->max_ns(), *clone.directions[0].lat.max_ns());
    }
    EXPECT_NEAR(*ran.Metric("iops", "a"), 600, 12);
  }
}

// More than the device can do: the rate is not kept because every slot is taken, which is a result
// and no fault of the generator's.
TEST(OpenLoop, ADeviceThatIsTooSlowIsMeasured) {
  const Ran ran = RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "2ms"
[[job]]
name = "a"
queue = "disk:0"
rate_iops = 1000
[[phase]]
name = "alone"
jobs = ["a"]
runtime = "10s"
[[assert]]
kind = "bound"
phase = "alone"
job = "a"
metric = "iops"
max = 600
)");
  const OpenLoopRecord& open = *ran.Job("alone", "a").open_loop;
  EXPECT_EQ(open.due, 10'000u);
  EXPECT_NEAR(static_cast<double>(open.late), 10'000, 2);
  EXPECT_NEAR(static_cast<double>(open.backlog_at_close), 5500, 5);
  EXPECT_EQ(open.backlog_max, open.backlog_at_close);
  EXPECT_EQ(open.behind_ns, 0);
  EXPECT_EQ(ran.judgement.verdicts.at(0).outcome, Outcome::kPass) << ran.judgement.verdicts[0].why;
  ASSERT_EQ(ran.judgement.warnings.size(), 1u);
  EXPECT_NE(ran.judgement.warnings[0].find("I/Os due and not begun"), std::string::npos);
}

// The device stops halfway: those that completed by then were fast, and those that were due from
// then on are as much a part of the answer.
TEST(OpenLoop, WhatNeverBeganIsNoReasonToPass) {
  const auto run = [](const std::string& metric, const std::string& max) {
    return RunToml(R"(
[[fixture]]
name = "disk"
kind = "sim"
queues = 1
service_time = "100us"
stall_at = "5s"
stall_for = "20s"
[[job]]
name = "a"
queue = "disk:0"
rate_iops = 1000
[[phase]]
name = "alone"
jobs = ["a"]
runtime = "10s"
[[assert]]
kind = "bound"
phase = "alone"
job = "a"
metric = ")" + metric +
                   "\"\nmax = \"" + max + "\"\n");
  };
  const auto outcome = [&](const std::string& metric, const std::string& max) {
    return run(metric, max).judgement.verdicts.at(0).outcome;
  };
  EXPECT_EQ(outcome("response_p95", "1ms"), Outcome::kFail);
  EXPECT_EQ(outcome("response_p95", "1h"), Outcome::kInconclusive);
  EXPECT_EQ(outcome("response_mean", "1ms"), Outcome::kFail);
  EXPECT_EQ(outcome("response_max", "1ms"), Outcome::kFail);
  EXPECT_EQ(outcome("lat_max", "1s"), Outcome::kFail);
  EXPECT_EQ(outcome("lat_max", "1h"), Outcome::kInconclusive);
  EXPECT_EQ(outcome("lat_p50", "1ms"), Outcome::kPass);
  const Ran ran = run("response_p99", "1h");
  const std::vector<Record> records = {ran.record};
  const std::string text = TextReport({&ran.scenario, records, &ran.judgement, "", ""}, false);
  EXPECT_NE(text.find("p99 >= "), std::string::npos) << text;
}

}  // namespace
}  // namespace blkfair
