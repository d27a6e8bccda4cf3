// What a phase must show before it is judged, job by job as they are in that phase.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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
  Verdict OnlyVerdict() const {
    const Judgement judgement = Judge(scenario_, records_);
    EXPECT_EQ(judgement.verdicts.size(), 1U);
    return judgement.verdicts.at(0);
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

}  // namespace
}  // namespace blkfair
