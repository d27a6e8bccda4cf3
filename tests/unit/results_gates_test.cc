// What a phase must show before it is judged, job by job as they are in that phase; and what the
// kernel's counters say of it, read in time or late.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "results/fairness/cross_checks.h"
#include "results/fairness/judge.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

using testing::JobIn;
using testing::MakeAssert;
using testing::PhaseIn;

constexpr int64_t kCellNs = 100'000'000;

class GatesTest : public ::testing::Test {
 protected:
  GatesTest() {
    scenario_.asserts = {MakeAssert("slowdown", {"contention"},
                                    {{"job", "light"}, {"metric", "iops"}, {"max", 1.3}})};
    for (PhaseRecord& phase : records_[0].phases) SpreadEvenly(&phase);
  }

  // A series as real ones are: the ramp like the window, the same in each cell.
  static void SpreadEvenly(PhaseRecord* phase) {
    const auto cells = static_cast<size_t>(phase->window_close_ns / kCellNs);
    const auto in_window = static_cast<uint64_t>(phase->window_ns() / kCellNs);
    for (JobRecord& job : phase->jobs) {
      const uint64_t ios = job.directions[0].ios / in_window;
      job.series.assign(cells, SeriesCell{.ios = ios, .bytes = ios, .in_flight = job.iodepth});
      job.series.back().ios += job.directions[0].ios % in_window;
    }
  }

  PhaseRecord& Contended() { return PhaseIn(records_[0], "contention"); }
  QueueRecord& HeavyQueue() { return Contended().queues[0]; }
  std::vector<std::string> Warnings() const { return Judge(scenario_, records_).warnings; }
  Verdict OnlyVerdict() const {
    const Judgement judgement = Judge(scenario_, records_);
    EXPECT_EQ(judgement.verdicts.size(), 1U);
    return judgement.verdicts.at(0);
  }
  void ExpectWarning(std::string_view text) const {
    const std::vector<std::string> warnings = Warnings();
    ASSERT_EQ(warnings.size(), 1U) << ::testing::PrintToString(warnings);
    EXPECT_NE(warnings[0].find(text), std::string::npos) << warnings[0];
  }
  // The counters of the heavy queue as they are when read so late, by a kernel that counts right.
  void ReadLate(int64_t late_ns) {
    KernelCountersRecord& kernel = *HeavyQueue().kernel;
    kernel.open_at_ns = Contended().window_open_ns + late_ns;
    const double left = 1 - static_cast<double>(late_ns) / 1e10;
    kernel.counts[0].bytes = static_cast<uint64_t>(static_cast<double>(HeavyQueue().bytes) * left);
    kernel.counts[0].time_ns =
        static_cast<int64_t>(static_cast<double>(kernel.counts[0].time_ns) * left);
  }

  Scenario scenario_ = testing::LopsidedScenario();
  std::vector<Record> records_ = {testing::StockRecord(scenario_)};
};

TEST_F(GatesTest, ARateThatThePhaseSetsMeansThatItsDepthNeedNotBeFull) {
  JobRecord& heavy = JobIn(Contended(), "heavy");
  heavy.depth_max = 4;
  heavy.depth_mean = 1;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kError);
  scenario_.phases[2].changed_jobs = {scenario_.jobs[0]};
  scenario_.phases[2].changed_jobs[0].rate_iops = 20;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << OnlyVerdict().why;
  scenario_.phases[2].changed_jobs[0].rate_iops = 0;
  scenario_.phases[2].changed_jobs[0].think_time_ns = 1'000'000;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << OnlyVerdict().why;
}

TEST_F(GatesTest, ADepthThatAPhaseLeavesToAJobWithARateElsewhereMustBeFull) {
  JobIn(Contended(), "heavy").depth_max = 4;
  scenario_.jobs[0].rate_iops = 20;
  scenario_.phases[2].changed_jobs = {scenario_.jobs[0]};
  scenario_.phases[2].changed_jobs[0].rate_iops = 0;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kError);
}

// --- workers that did not run ---

// The heavy job as one that no CPU was given to.
void NeverRan(JobRecord* job) {
  job->depth_max = 0;
  job->depth_mean = 0;
  job->directions[0] = DirectionRecord();
  job->directions[0].direction = "read";
  for (SeriesCell& cell : job->series) cell = {};
}

TEST_F(GatesTest, AWorkerThatNeverBeganIsAnErrorWhateverContentionSays) {
  NeverRan(&JobIn(Contended(), "heavy"));
  for (const Contention contention : {Contention::kRequired, Contention::kAny}) {
    scenario_.asserts[0].contention = contention;
    EXPECT_EQ(OnlyVerdict().outcome, Outcome::kError);
    EXPECT_NE(OnlyVerdict().why.find("1 of 2 workers began no I/O in the window of phase "
                                     "contention, the first of them heavy[0]"),
              std::string::npos)
        << OnlyVerdict().why;
  }
  scenario_.asserts.clear();
  const std::vector<std::string> warnings = Warnings();
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("began no I/O") != std::string::npos;
  }));
}

TEST_F(GatesTest, AWorkerThatStarvesIsAFindingAndNoError) {
  scenario_.asserts[0].contention = Contention::kAny;
  JobRecord& heavy = JobIn(Contended(), "heavy");
  NeverRan(&heavy);
  heavy.depth_max = heavy.in_flight_at_close = 256;  // asked for, and not one was given
  for (SeriesCell& cell : heavy.series) cell.in_flight = 256;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << OnlyVerdict().why;
}

TEST_F(GatesTest, AWorkerThatHadNothingToBeginIsNoError) {
  scenario_.asserts[0].contention = Contention::kAny;
  JobRecord& heavy = JobIn(Contended(), "heavy");
  NeverRan(&heavy);
  heavy.open_loop = OpenLoopRecord{.rate_iops = 0.01, .process = "fixed"};
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << OnlyVerdict().why;
  heavy.open_loop->due = 1;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kError);
  heavy.open_loop.reset();
  scenario_.phases[2].changed_jobs = {scenario_.jobs[0]};
  scenario_.phases[2].changed_jobs[0].think_time_ns = 11'000'000'000;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << OnlyVerdict().why;
}

TEST_F(GatesTest, AWorkerThatBeganAfterTheWindowOpenedMakesItInconclusive) {
  scenario_.asserts[0].contention = Contention::kAny;
  JobIn(Contended(), "heavy").ios_trimmed = 0;
  std::vector<SeriesCell>& series = JobIn(Contended(), "heavy").series;
  for (size_t i = 0; i < 9; i++) series[i] = {};
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << "in the last cell of the ramp";
  for (size_t i = 9; i < 17; i++) series[i] = {};
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kInconclusive);
  EXPECT_NE(OnlyVerdict().why.find("1 of 2 workers had begun no I/O when the window of phase "
                                   "contention opened, and heavy[0] not until 700 ms later"),
            std::string::npos)
      << OnlyVerdict().why;
  series[0].in_flight = 1;  // one that has been waiting ever since
  for (SeriesCell& cell : series) cell.in_flight = 1;
  EXPECT_EQ(OnlyVerdict().outcome, Outcome::kPass) << OnlyVerdict().why;
}

// --- the kernel's counters ---

TEST_F(GatesTest, CountersReadLateAreHeldAgainstWhatTheJobsDidFromThenOn) {
  ReadLate(3'000'000'000);
  EXPECT_TRUE(Warnings().empty()) << Warnings()[0];
  // 300 I/Os more than the 2177 that are left, and no more than 256 are in flight.
  HeavyQueue().kernel->counts[0].bytes += 300 * 4096;
  ExpectWarning("pair:0 in phase contention: the kernel counted");
}

TEST_F(GatesTest, CountersReadLateThatCountNothingAreADisagreement) {
  ReadLate(3'000'000'000);
  HeavyQueue().kernel->counts[0].bytes = 0;
  ExpectWarning("pair:0 in phase contention: the kernel counted");
}

TEST_F(GatesTest, ACheckThatCouldHaveFoundNothingSaysThatItWasNotMade) {
  for (const int64_t late_ns : {9'500'000'000, 10'200'000'000}) {
    ReadLate(std::min<int64_t>(late_ns, 10'000'000'000));
    HeavyQueue().kernel->open_at_ns = Contended().window_open_ns + late_ns;
    HeavyQueue().kernel->counts[0].bytes = 0;
    ExpectWarning(
        "the I/Os of pair:0 in phase contention were not held against the kernel's "
        "counters, which were read ");
  }
  Contended().queues[1].kernel = HeavyQueue().kernel;
  ExpectWarning("the I/Os of pair:0 and 1 other queue");
}

TEST_F(GatesTest, ASeriesTooShortIsNoReasonNotToCheck) {
  ReadLate(3'000'000'000);
  JobIn(Contended(), "heavy").series.clear();
  EXPECT_TRUE(Warnings().empty()) << Warnings()[0];
}

TEST_F(GatesTest, ThroughputTimesServiceFromCountersReadLateIsAbsent) {
  EXPECT_TRUE(TagsByService(scenario_, Contended(), HeavyQueue()));
  HeavyQueue().occupancy->service_mean = 0;
  HeavyQueue().kernel->close_at_ns += 440'000'000;
  EXPECT_FALSE(TagsByService(scenario_, Contended(), HeavyQueue()));
  EXPECT_EQ(WhyNoService(scenario_, Contended(), HeavyQueue()),
            "the kernel's counters were read 440 ms late");
  EXPECT_TRUE(Warnings().empty()) << "it is not held against the tags either";
}

TEST_F(GatesTest, ThroughputTimesServiceOfPassthroughIsAbsent) {
  JobIn(Contended(), "heavy").engine = "io_uring_cmd";
  HeavyQueue().occupancy->service_mean = 0;
  EXPECT_FALSE(TagsByService(scenario_, Contended(), HeavyQueue()));
  EXPECT_TRUE(Warnings().empty());
}

TEST_F(GatesTest, AJobOfTheEngineNullIsHeldAgainstNoCounters) {
  JobIn(Contended(), "heavy").engine = "null";
  HeavyQueue().kernel->counts[0] = {"read", 0, 0, 0, 0};
  HeavyQueue().occupancy->mean = HeavyQueue().occupancy->service_mean = 0;
  EXPECT_TRUE(Warnings().empty()) << Warnings()[0];
  HeavyQueue().kernel->counts[0] = {"read", 9, 0, 9 * 4096, 0};
  ExpectWarning("the kernel counted 9 reads of 36KiB, the jobs 0 of 0B");
}

}  // namespace
}  // namespace blkfair
