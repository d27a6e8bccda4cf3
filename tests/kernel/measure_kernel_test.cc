// What is measured beside the jobs, on real kernels: the kernel's own counters, the cost of looking
// on, waits for tags; and that a thousand jobs can be measured at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

GuestRun BriefLopsided(const std::string& kernel) {
  return {kernel,
          "lopsided_null_blk",
          {"phase.contention.runtime=4s", "phase.solo_light.runtime=2s",
           "phase.solo_heavy.runtime=2s"}};
}

void ExpectCountersAgree(const GuestRun& run, const Record& record) {
  for (const PhaseRecord& phase : record.phases) {
    ASSERT_TRUE(phase.sampling);
    EXPECT_GT(phase.sampling->samples, 0U);
    EXPECT_GT(phase.sampling->cpu_ns, 0);
    for (const QueueRecord& queue : phase.queues) {
      ASSERT_TRUE(queue.kernel) << queue.queue << ": " << queue.kernel_absent;
      EXPECT_GT(queue.kernel->counts[0].bytes, 0U);
      EXPECT_EQ(queue.kernel->counts[1].bytes, 0U);
      ASSERT_TRUE(queue.occupancy && queue.occupancy->mean && queue.occupancy->service_mean);
      EXPECT_NEAR(*queue.occupancy->service_mean, *queue.occupancy->mean,
                  std::max(0.5, 0.1 * *queue.occupancy->mean))
          << queue.queue << " in " << phase.name;
    }
  }
  for (const std::string& warning : JudgeRun(run, record).warnings) {
    EXPECT_EQ(warning.find("the kernel counted"), std::string::npos) << warning;
    EXPECT_EQ(warning.find("throughput x service"), std::string::npos) << warning;
  }
}

TEST(KernelCounters, AgreeWithTheJobsAndWithTheTagsHeld) {
  const GuestRun run = BriefLopsided("debian:6.12");
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectCountersAgree(run, record);
  const QueueRecord& heavy = QueueOf(record, "contention", "pair:0");
  EXPECT_FALSE(heavy.tag_waits) << "the tracepoint came with 7.2";
  EXPECT_NEAR(*heavy.occupancy->waiting_mean, 256 - 32, 2);
}

TEST(KernelCounters, WaitsForTagsAreTracedWhereTheKernelHasTheTracepoint) {
  const GuestRun run = BriefLopsided("debian:7");
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectCountersAgree(run, record);
  const QueueRecord& heavy = QueueOf(record, "contention", "pair:0");
  ASSERT_TRUE(heavy.tag_waits);
  EXPECT_GT(*heavy.tag_waits, 100U);
  EXPECT_EQ(QueueOf(record, "solo_light", "pair:1").tag_waits, 0U);
}

TEST(KernelCounters, RequestsThatAreSplitAreComparedByBytes) {
  // null_blk takes 127 KiB at a time at most, so that each I/O is several requests.
  GuestRun run = BriefLopsided("debian:6.12");
  run.overrides.insert(run.overrides.end(), {"job.heavy.bs=256KiB", "job.heavy.iodepth=64"});
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  const QueueRecord& heavy = QueueOf(record, "contention", "pair:0");
  ASSERT_TRUE(heavy.kernel);
  EXPECT_GT(heavy.kernel->counts[0].requests, 2 * heavy.ios);
  for (const std::string& warning : JudgeRun(run, record).warnings) {
    EXPECT_EQ(warning.find("the kernel counted"), std::string::npos) << warning;
  }
}

// 1024 jobs, 16 on each of 64 queues, which share a tag for each: nothing but the one CPU makes
// them wait, the first time for up to four seconds.
std::string ManyJobs() {
  std::string text =
      "name = \"many_jobs\"\nsituation = \"64 queues, 16 jobs on each\"\n"
      "expectation = \"All of them can be measured\"\nwhy = \"Growth\"\n"
      "occupancy_interval = \"1s\"\ncontention = \"any\"\n[guest]\nmemory = \"768MiB\"\n"
      "[[fixture]]\nname = \"many\"\nkind = \"null_blk\"\nqueues = 64\ndepth = 1024\n"
      "service_time = \"10ms\"\nscheduler = \"none\"\n";
  std::string names;
  for (int i = 0; i < 64; i++) {
    const std::string number = std::to_string(i);
    text += "[[job]]\nname = \"j" + number + "\"\nqueue = \"many:" + number +
            "\"\nengine = \"io_uring\"\nbs = \"512B\"\nnumjobs = 16\nthink_time = \"500ms\"\n";
    names += (i == 0 ? "\"j" : ", \"j") + number + "\"";
  }
  return text + "[[phase]]\nname = \"all\"\njobs = [" + names +
         "]\nramp = \"500ms\"\nruntime = \"10s\"\n"
         "[[assert]]\nkind = \"bound\"\nphase = \"all\"\njob = \"j0\"\n"
         "metric = \"iops\"\nmin = 1\n";
}

TEST(Growth, ThousandJobsOverSixtyFourQueuesAreSetUpWithinAMinute) {
  const GuestRun run{"debian:6.12", ManyJobs(), {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  const PhaseRecord& phase = record.phases.front();
  ASSERT_EQ(phase.jobs.size(), 1024U);
  for (const JobRecord& job : phase.jobs) {
    EXPECT_GT(job.directions.front().ios, 0U)
        << job.job << " clone " << job.clone << ": " << job.ios_trimmed << " before the window, "
        << job.in_flight_at_close << " in flight at its end, " << job.switches_voluntary << " and "
        << job.switches_involuntary << " switches";
  }
  EXPECT_GT(IopsOf(record, "all", "j0"), 0);
  const auto ended =
      std::find_if(record.events.begin(), record.events.end(),
                   [](const EventRecord& event) { return event.text == "phase all ends"; });
  ASSERT_NE(ended, record.events.end());
  EXPECT_LT(ended->at_ns - phase.window_close_ns, 60 * kSecondNs);
  for (const std::string& warning : JudgeRun(run, record).warnings) {
    EXPECT_EQ(warning.find("the kernel counted"), std::string::npos) << warning;
  }
}

}  // namespace
}  // namespace blkfair::testing_support
