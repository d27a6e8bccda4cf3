// The shipped scenarios on real kernels: what they measure, that they pass on a fair kernel and
// fail on an unfair one, and that virtual time repeats to the last bit.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "results/record_json.h"
#include "scenarios/language/canonical.h"
#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

constexpr const char* kNoSmallKernels =
    "no small kernels here: set BLKFAIR_TEST_KERNELS to a folder with stock.bzImage, "
    "nofair.bzImage and noacct.bzImage";

struct Means {
  double heavy_iops = 0;
  double light_iops = 0;
  double light_p99_ns = 0;
};

// Means over five seeds of the lopsided pair; expects every run to end in `outcome`.
Means LopsidedOverSeeds(const std::string& kernel, Outcome outcome,
                        const std::vector<std::string>& failing) {
  std::vector<GuestRun> runs;
  for (int seed = 1; seed <= 5; seed++) {
    runs.push_back({kernel, "lopsided_null_blk", {"seed=" + std::to_string(seed)}});
  }
  const std::vector<Record> records = RunInGuests(runs);
  Means means;
  for (size_t i = 0; i < records.size(); i++) {
    if (records[i].outcome != RunOutcome::kComplete) continue;
    means.heavy_iops += IopsOf(records[i], "contention", "heavy") / 5;
    means.light_iops += IopsOf(records[i], "contention", "light") / 5;
    const auto p99 = LatencyOf(records[i], "contention", "light").histogram().Quantile(0.99);
    EXPECT_TRUE(p99);
    if (p99) means.light_p99_ns += static_cast<double>(p99->ns) / 5;
    const Judgement judgement = JudgeRun(runs[i], records[i]);
    EXPECT_EQ(judgement.outcome, outcome) << runs[i].overrides[0];
    for (const std::string& name : failing) {
      const Verdict* verdict = FindVerdict(judgement, name);
      EXPECT_TRUE(verdict != nullptr && verdict->outcome == Outcome::kFail)
          << name << " must be among the reasons, " << runs[i].overrides[0];
    }
  }
  return means;
}

TEST(LopsidedNullBlk, PassesOnStock) {
  const std::string kernel = SmallKernel("stock");
  if (kernel.empty()) GTEST_SKIP() << kNoSmallKernels;
  const Means means = LopsidedOverSeeds(kernel, Outcome::kPass, {});
  EXPECT_NEAR(means.heavy_iops, 311, 311 * 0.05);
  EXPECT_GT(means.light_iops, 850);
  EXPECT_LT(means.light_p99_ns, 5e6);
}

TEST(LopsidedNullBlk, FailsWithoutFairness) {
  const std::string kernel = SmallKernel("nofair");
  if (kernel.empty()) GTEST_SKIP() << kNoSmallKernels;
  const Means means = LopsidedOverSeeds(kernel, Outcome::kFail, {"light_rate", "heavy_share"});
  EXPECT_NEAR(means.heavy_iops, 617, 617 * 0.05);
  EXPECT_LT(means.light_iops, 350);
  EXPECT_GT(means.light_p99_ns, 40e6);
}

// Several CPUs do not repeat to the last bit, but run in virtual time all the same.
TEST(LopsidedNullBlk, PassesOnTwoCpus) {
  const std::string kernel = SmallKernel("stock");
  if (kernel.empty()) GTEST_SKIP() << kNoSmallKernels;
  const GuestRun run{kernel, "lopsided_null_blk", {"guest.vcpus=2"}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
}

TEST(LopsidedNullBlk, FailsByBusyTagsWhereTheKernelCountsNoActiveOnes) {
  const std::string kernel = SmallKernel("noacct");
  if (kernel.empty()) GTEST_SKIP() << kNoSmallKernels;
  const GuestRun run{kernel, "lopsided_null_blk", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  const OccupancyRecord& heavy = *QueueOf(record, "contention", "pair:0").occupancy;
  EXPECT_EQ(heavy.source, "busy");
  EXPECT_GT(*heavy.mean, 50);
  const Judgement judgement = JudgeRun(run, record);
  EXPECT_EQ(FindVerdict(judgement, "heavy_share")->outcome, Outcome::kFail);
}

TEST(VirtualTime, RepeatsExactlyAndBesideBusyLoops) {
  const std::string kernel = SmallKernel("stock").empty() ? "debian:6.12" : SmallKernel("stock");
  const std::vector<std::string> brief = {
      "phase.contention.runtime=2s", "phase.solo_light.runtime=1s", "phase.solo_heavy.runtime=1s"};
  const GuestRun run{kernel, "lopsided_null_blk", brief};
  GuestRun other = run;
  other.overrides.push_back("seed=2");
  const std::vector<Record> quiet = RunInGuests({run, run, other});

  std::atomic<bool> stop = false;
  std::vector<std::thread> loops;
  for (int i = 0; i < 2; i++) {
    loops.emplace_back([&stop] {
      while (!stop) {
      }
    });
  }
  const std::vector<Record> loaded = RunInGuests({run});
  stop = true;
  for (std::thread& loop : loops) loop.join();

  const std::string first = ComparableJson(quiet[0]);
  EXPECT_EQ(quiet[0].scenario_hash, ScenarioHash(quiet[0].scenario_toml));
  EXPECT_FALSE(quiet[0].phases.empty());
  EXPECT_FALSE(quiet[0].phases.front().jobs.front().series.empty());
  EXPECT_EQ(first, ComparableJson(quiet[1])) << "two runs with the same arguments";
  EXPECT_EQ(first, ComparableJson(loaded[0])) << "beside two busy loops";
  // Another seed is another sample: the measurements differ, not only the seed's own field.
  ASSERT_FALSE(quiet[2].phases.empty());
  EXPECT_NE(PhaseToJson(quiet[0].phases.back()), PhaseToJson(quiet[2].phases.back()));
}

TEST(SlowAndFast, J02EqualTagsAreNotEqualIops) {
  const GuestRun run{"debian:6.12", "slow_and_fast", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_NEAR(*QueueOf(record, "contention", "pair:0").occupancy->mean, 32, 1);
  EXPECT_NEAR(*QueueOf(record, "contention", "pair:1").occupancy->mean, 32, 1);
  EXPECT_NEAR(IopsOf(record, "contention", "fast") / IopsOf(record, "contention", "slow"), 10, 1);
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
  GuestRun by_iops = run;
  by_iops.overrides = {"assert.equal.of=iops"};
  EXPECT_EQ(FindVerdict(JudgeRun(by_iops, record), "equal")->outcome, Outcome::kFail);
}

class OnDebian : public testing::TestWithParam<std::string> {};

TEST_P(OnDebian, IdleSiblingCostsHalf) {
  const GuestRun run{GetParam(), "idle_sibling", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  const double kept = IopsOf(record, "beside", "deep") / IopsOf(record, "solo_deep", "deep");
  EXPECT_GE(kept, 0.45);
  EXPECT_LE(kept, 0.62);
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
}

TEST_P(OnDebian, UnsharedSetsShowNoEffect) {
  const GuestRun run{GetParam(), "unshared_control", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
  for (const TagSetPhaseRecord& set : record.FindPhase("together")->tag_sets) {
    EXPECT_EQ(set.samples_contended, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnDebian, testing::Values("debian:6.1", "debian:6.12"),
                         [](const auto& param) {
                           return param.param == "debian:6.1" ? "Debian61" : "Debian612";
                         });

TEST(LopsidedNullBlk, PassesOnDebian) {
  const GuestRun run{"debian:6.12", "lopsided_null_blk", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
}

TEST(ReviewerTable, PassesOnDebian) {
  const GuestRun run{"debian:6.12", "reviewer_table", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
  // Equal depths are judged with contention and, as a control, without.
  EXPECT_EQ(record.FindPhase("even_32")->FindTagSet("pair")->samples_contended, 0u);
  EXPECT_GT(record.FindPhase("even_64")->FindTagSet("pair")->samples_contended, 100u);
}

}  // namespace
}  // namespace blkfair::testing_support
