// Every engine on real kernels: on NVMe with and without contention, what the accounting of each
// adds up to, and what is said where a kernel lacks what an engine needs.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

// The opening that every scenario has.
std::string Opening(const std::string& name) {
  return "name = \"" + name +
         "\"\n"
         "situation = \"Made by a test.\"\n"
         "expectation = \"None.\"\n"
         "why = \"To look at the record.\"\n"
         "contention = \"any\"\n";
}

std::string Job(const std::string& name, const std::string& queue, const std::string& engine,
                const std::string& more = "") {
  return "[[job]]\nname = \"" + name + "\"\nqueue = \"" + queue + "\"\nengine = \"" + engine +
         "\"\n" + more;
}

std::string Phase(const std::string& name, const std::string& jobs) {
  return "[[phase]]\nname = \"" + name + "\"\njobs = [" + jobs +
         "]\nramp = \"100ms\"\nruntime = \"500ms\"\n";
}

// What design rule 1 says of every engine, as far as a record can show it.
void ExpectSoundAccounting(const Record& record) {
  for (const PhaseRecord& phase : record.phases) {
    for (const JobRecord& job : phase.jobs) {
      const std::string who = job.job + " (" + job.engine + ") in phase " + phase.name;
      EXPECT_TRUE(job.errors.empty()) << who << ": " << job.errors.begin()->first;
      EXPECT_EQ(job.outstanding, 0U) << who;
      EXPECT_EQ(job.clock_anomalies, 0U) << who;
      EXPECT_FALSE(job.issue_point.empty()) << who;
      for (const DirectionRecord& direction : job.directions) {
        EXPECT_GT(direction.ios, 0U) << who;
        EXPECT_EQ(direction.lat.count(), direction.ios) << who;
        EXPECT_EQ(direction.clat.count(), direction.ios) << who;
        if (direction.slat) {
          EXPECT_EQ(direction.slat->count(), direction.ios) << who;
          EXPECT_EQ(direction.slat->sum_ns() + direction.clat.sum_ns(), direction.lat.sum_ns())
              << who;
        } else {
          EXPECT_GE(direction.lat.sum_ns(), direction.clat.sum_ns()) << who;
        }
      }
    }
  }
}

const JobRecord& JobOf(const PhaseRecord& phase, const std::string& job) {
  for (const JobRecord& row : phase.jobs) {
    if (row.job == job) return row;
  }
  static const JobRecord none;
  ADD_FAILURE() << "phase " << phase.name << " has no job " << job;
  return none;
}

std::string KernelName(const testing::TestParamInfo<std::string>& param) {
  std::string name = param.param;
  std::erase_if(name, [](char c) { return c == ':' || c == '.'; });
  return name;
}

class EngineOnKernel : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kernels, EngineOnKernel, testing::Values("debian:6.1", "debian:6.12"),
                         KernelName);

constexpr const char* kNvme =
    "[[fixture]]\nname = \"ctrl\"\nkind = \"nvme_qemu\"\nqueues = 2\nqueue_size = 64\n";

std::string EveryEngineOnNvme() {
  const std::string deep = "iodepth = 64\nbatch_submit = 16\nbatch_complete = 16\n";
  return Opening("every_engine_on_nvme") + kNvme + Job("cmd", "ctrl:0", "io_uring_cmd", deep) +
         Job("aio", "ctrl:1", "libaio", deep) + Job("uring", "ctrl:0", "io_uring", deep) +
         Job("psync", "ctrl:0", "psync") + Job("pvsync2", "ctrl:0", "pvsync2") +
         "[[phase]]\nsolo = [\"cmd\", \"aio\", \"uring\", \"psync\", \"pvsync2\"]\n"
         "ramp = \"50ms\"\nruntime = \"300ms\"\n";
}

double TagsOf(const Record& record, const std::string& phase, const std::string& queue) {
  const auto& occupancy = QueueOf(record, phase, queue).occupancy;
  return occupancy ? occupancy->mean.value_or(0) : 0;
}

TEST_P(EngineOnKernel, B31EveryEngineRunsOnNvme) {
  const Record record = RunInGuests({{GetParam(), EveryEngineOnNvme(), {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(record.FindFixture("ctrl")->nr_tags, 63U);
  EXPECT_EQ(record.phases.size(), 5U);
  ExpectSoundAccounting(record);
}

// On the NVMe that repeats exactly, whose devices have a service time: as deep as its sibling,
// passthrough gets half of the 62 usable tags, and alone all of them.
TEST(EngineNvmeTags, B31PassthroughTakesItsShareOfSharedTags) {
  const std::string deep = "iodepth = 128\nbatch_submit = 32\nbatch_complete = 32\n";
  const std::string text =
      Opening("passed_beside_aio") +
      "[[fixture]]\nname = \"ctrl\"\nkind = \"nvme_loop\"\nqueues = 2\n"
      "service_time = \"50ms\"\n" +
      Job("cmd", "ctrl:0", "io_uring_cmd", deep) + Job("aio", "ctrl:1", "libaio", deep) +
      "[[phase]]\nsolo = [\"cmd\"]\nruntime = \"2s\"\n"
      "[[phase]]\nname = \"both\"\njobs = [\"cmd\", \"aio\"]\nruntime = \"3s\"\n";
  const Record record = RunInGuests({{"debian:6.12", text, {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectSoundAccounting(record);
  EXPECT_NEAR(TagsOf(record, "solo_cmd", "ctrl:0"), 62, 2);
  EXPECT_NEAR(TagsOf(record, "both", "ctrl:0"), 31, 2);
  EXPECT_NEAR(TagsOf(record, "both", "ctrl:1"), 31, 2);
}

// Case J14 is a job file of such sections. Its second job writes: what the fixture made may be
// written to, and somebody else's namespace needs the double permission (foreign_use.cc).
std::string PassthroughVariants() {
  const std::string deep = "bs = \"4KiB\"\niodepth = 32\n";
  return Opening("passthrough_variants") + kNvme +
         Job("rand_write", "ctrl:0", "io_uring_cmd", deep + "rw = \"randwrite\"\nsqpoll = true\n") +
         Job("rand_read", "ctrl:0", "io_uring_cmd", deep) +
         Job("seq_write", "ctrl:0", "io_uring_cmd", deep + "rw = \"write\"\nsqpoll = true\n") +
         Job("vectored", "ctrl:0", "io_uring_cmd",
             deep + "nonvectored = false\nfixed_buffers = false\n") +
         Job("plain", "ctrl:0", "io_uring_cmd",
             deep + "registered_files = false\nfixed_buffers = false\n") +
         Job("largest", "ctrl:1", "io_uring_cmd", "bs = \"256KiB\"\n") +
         "[[phase]]\nsolo = [\"rand_write\", \"rand_read\", \"seq_write\", \"vectored\", "
         "\"plain\", \"largest\"]\nramp = \"100ms\"\nruntime = \"300ms\"\n";
}

TEST_P(EngineOnKernel, J14PassthroughWithEachOfItsSwitches) {
  const Record record = RunInGuests({{GetParam(), PassthroughVariants(), {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(record.phases.size(), 6U);
  ExpectSoundAccounting(record);
  const auto slat = [&](const char* job) {
    return JobOf(*record.FindPhase(std::string("solo_") + job), job).directions.front().slat;
  };
  EXPECT_TRUE(slat("rand_read").has_value());
  EXPECT_FALSE(slat("rand_write").has_value()) << "a kernel thread submits";
}

TEST(EngineNvmeLimits, B31MoreThanOneCommandCarriesIsRefused) {
  const GuestRun run{"debian:6.12",
                     PassthroughVariants(),
                     {"job.largest.bs=1MiB"},
                     GuestTime::kVirtual,
                     RunOutcome::kError};
  const Record record = RunInGuests({run})[0];
  EXPECT_NE(record.outcome_why.find("1048576 B is more than one command"), std::string::npos)
      << record.outcome_why;
}

TEST(EngineOnNullBlk, B31PassthroughIsSkippedWhereThereIsNoNvme) {
  const std::string text = Opening("no_nvme") +
                           "[[fixture]]\nname = \"pair\"\nkind = \"null_blk\"\n" +
                           Job("cmd", "pair:0", "io_uring_cmd") + Phase("alone", "\"cmd\"");
  const GuestRun run{"debian:6.12", text, {}, GuestTime::kVirtual, RunOutcome::kUnmet};
  const Record record = RunInGuests({run})[0];
  EXPECT_NE(record.outcome_why.find("needs a whole NVMe namespace"), std::string::npos)
      << record.outcome_why;
}

std::string PolledEngines() {
  return Opening("polled") + "[[fixture]]\nname = \"pair\"\nkind = \"null_blk\"\n" +
         "poll_queues = 1\n" +
         Job("uring", "pair:0", "io_uring", "hipri = true\niodepth = 8\nbatch_complete = 4\n") +
         Job("both", "pair:0", "io_uring", "hipri = true\nsqpoll = true\niodepth = 8\n") +
         Job("paced", "pair:0", "io_uring", "hipri = true\nthink_time = \"5ms\"\n") +
         Job("pvsync2", "pair:1", "pvsync2", "hipri = true\n") +
         "[[phase]]\nsolo = [\"uring\", \"both\", \"paced\", \"pvsync2\"]\n"
         "ramp = \"100ms\"\nruntime = \"300ms\"\n";
}

TEST_P(EngineOnKernel, HipriPollsForCompletions) {
  const Record record = RunInGuests({{GetParam(), PolledEngines(), {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(record.FindFixture("pair")->nr_hw_queues, 2U);
  ExpectSoundAccounting(record);
}

TEST(EngineOnNullBlk, HipriIsSkippedWhereNothingPolls) {
  const GuestRun run{"debian:6.12",
                     PolledEngines(),
                     {"fixture.pair.poll_queues=0"},
                     GuestTime::kVirtual,
                     RunOutcome::kUnmet};
  const Record record = RunInGuests({run})[0];
  EXPECT_NE(record.outcome_why.find("null_blk gets them by poll_queues = 1"), std::string::npos)
      << record.outcome_why;
}

TEST_P(EngineOnKernel, B03EnginesAgreeOnADeviceOfKnownServiceTime) {
  const GuestRun run{GetParam(), "engines_agree", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectSoundAccounting(record);
  for (const JobRecord& job : record.FindPhase("together")->jobs) {
    const double clat_ns = job.directions.front().clat.mean_ns().value_or(0);
    EXPECT_GE(clat_ns, 10e6) << job.job;
    EXPECT_LE(clat_ns, 10.25e6) << job.job;  // an emulated CPU takes 0.1 ms to notice
  }
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
}

constexpr const char* kDiscarding =
    "[[fixture]]\nname = \"disk\"\nkind = \"null_blk\"\nqueues = 2\nsize = \"64MiB\"\n"
    "memory_backed = true\ndiscard = true\n";

TEST_P(EngineOnKernel, TrimsByIoctlAreSynchronousInEveryEngine) {
  const std::string trim = "rw = \"randtrim\"\n";
  const std::string text =
      Opening("trims_by_ioctl") + kDiscarding + Job("uring", "disk:0", "io_uring", trim) +
      Job("aio", "disk:0", "libaio", trim) + Job("psync", "disk:0", "psync", "rw = \"trim\"\n") +
      Job("reader", "disk:0", "io_uring") +
      Phase("all", "\"uring\", \"aio\", \"psync\", \"reader\"");
  const Record record = RunInGuests({{GetParam(), text, {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectSoundAccounting(record);
  const PhaseRecord& phase = *record.FindPhase("all");
  for (const char* name : {"uring", "aio", "psync"}) {
    const JobRecord& job = JobOf(phase, name);
    ASSERT_EQ(job.directions.size(), 1U) << name;
    EXPECT_EQ(job.directions.front().direction, "trim") << name;
    EXPECT_FALSE(job.directions.front().slat.has_value()) << name;
    EXPECT_NE(job.issue_point.find("BLKDISCARD"), std::string::npos) << job.issue_point;
  }
  // Apart from reads and writes.
  EXPECT_EQ(QueueOf(record, "all", "disk:0").ios, JobOf(phase, "reader").directions.front().ios);
}

std::string AsynchronousTrims() {
  return Opening("asynchronous_trims") + kDiscarding +
         Job("uring", "disk:0", "io_uring",
             "rw = \"randtrim\"\ntrim = \"async\"\niodepth = 32\nbatch_submit = 8\n") +
         Phase("alone", "\"uring\"");
}

TEST(EngineTrims, AreAsynchronousThroughIoUringWhereTheKernelHasThem) {
  const Record record = RunInGuests({{"debian:6.12", AsynchronousTrims(), {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectSoundAccounting(record);
  const JobRecord& job = JobOf(*record.FindPhase("alone"), "uring");
  EXPECT_EQ(job.directions.front().direction, "trim");
  EXPECT_TRUE(job.directions.front().slat.has_value());
  EXPECT_EQ(job.depth_max, 32U);
}

TEST(EngineTrims, AnOlderKernelHasNoAsynchronousOnes) {
  const GuestRun run{
      "debian:6.1", AsynchronousTrims(), {}, GuestTime::kVirtual, RunOutcome::kUnmet};
  const Record record = RunInGuests({run})[0];
  EXPECT_NE(record.outcome_why.find("Linux 6.12 has it"), std::string::npos) << record.outcome_why;
}

TEST(EngineTrims, ADeviceThatDoesNotDiscardIsNamed) {
  const GuestRun run{"debian:6.12",
                     AsynchronousTrims(),
                     {"fixture.disk.discard=false"},
                     GuestTime::kVirtual,
                     RunOutcome::kUnmet};
  const Record record = RunInGuests({run})[0];
  EXPECT_NE(record.outcome_why.find("discard_max_bytes is 0"), std::string::npos)
      << record.outcome_why;
}

TEST_P(EngineOnKernel, TrimsArePassedToNvmeNamespaces) {
  const std::string trim = "rw = \"randtrim\"\ntrim = \"async\"\niodepth = 16\n";
  const std::string text = Opening("nvme_trims") + kNvme +
                           Job("cmd", "ctrl:0", "io_uring_cmd", trim) +
                           Job("vectored", "ctrl:1", "io_uring_cmd",
                               trim + "nonvectored = false\nfixed_buffers = false\n") +
                           Phase("both", "\"cmd\", \"vectored\"");
  const Record record = RunInGuests({{GetParam(), text, {}}})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  ExpectSoundAccounting(record);
  for (const JobRecord& job : record.FindPhase("both")->jobs) {
    EXPECT_EQ(job.directions.front().direction, "trim");
    EXPECT_TRUE(job.directions.front().slat.has_value());
  }
}

class OneTag : public testing::TestWithParam<std::string> {};

TEST_P(OneTag, J27ManySubmittersShareTheOneTagEqually) {
  const GuestRun run{"debian:6.12", "one_tag", {"fixture.one.scheduler=" + GetParam()}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(record.FindFixture("one")->nr_tags, 1U);
  EXPECT_NEAR(IopsOf(record, "crowded", "crowd"), 500, 25);  // see the scenario
  EXPECT_EQ(record.FindPhase("crowded")->jobs.size(), 8U);
  ExpectSoundAccounting(record);
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
}

INSTANTIATE_TEST_SUITE_P(Schedulers, OneTag, testing::Values("none", "mq-deadline", "kyber", "bfq"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace blkfair::testing_support
