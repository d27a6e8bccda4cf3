// How jobs submit and are isolated, on real kernels: the lopsided pair is as fair through io_uring,
// a sweep reaches every depth, and processes do what threads do.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/guest_runs.h"

namespace blkfair::testing_support {
namespace {

constexpr const char* kNoSmallKernels =
    "no small kernels here: set BLKFAIR_TEST_KERNELS to a folder with nofair.bzImage";

TEST(LopsidedUring, PassesWithFairness) {
  std::vector<GuestRun> runs = {{"debian:6.12", "lopsided_uring", {}}};
  const std::string stock = SmallKernel("stock");
  if (!stock.empty()) runs.push_back({stock, "lopsided_uring", {}});
  const std::vector<Record> records = RunInGuests(runs);
  for (size_t i = 0; i < runs.size(); i++) {
    if (records[i].outcome != RunOutcome::kComplete) continue;
    const Judgement judgement = JudgeRun(runs[i], records[i]);
    EXPECT_EQ(judgement.outcome, Outcome::kPass) << runs[i].kernel;
    for (const Verdict& verdict : judgement.verdicts) {
      EXPECT_EQ(verdict.outcome, Outcome::kPass)
          << runs[i].kernel << ": " << verdict.assertion << ", observed " << verdict.observed
          << ", bound " << verdict.bound << ": " << verdict.why;
    }
  }
}

TEST(LopsidedUring, FailsWithoutFairness) {
  const std::string kernel = SmallKernel("nofair");
  if (kernel.empty()) GTEST_SKIP() << kNoSmallKernels;
  const GuestRun run{kernel, "lopsided_uring", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  const Judgement judgement = JudgeRun(run, record);
  EXPECT_EQ(judgement.outcome, Outcome::kFail);
  for (const char* name : {"heavy_share", "light_rate"}) {
    EXPECT_EQ(FindVerdict(judgement, name)->outcome, Outcome::kFail) << name;
  }
}

TEST(DepthSweep, ReachesEveryDepthInThreadsAndInProcesses) {
  const GuestRun run{"debian:6.12", "depth_sweep", {}};
  const Record record = RunInGuests({run})[0];
  if (record.outcome != RunOutcome::kComplete) return;
  EXPECT_EQ(JudgeRun(run, record).outcome, Outcome::kPass);
  EXPECT_EQ(record.phases.size(), 2u * (32 + 2));
  for (const int depth : {32, 16, 8, 2, 1}) {
    const std::string step = std::to_string(depth);
    const double threads = IopsOf(record, "depth_thread_" + step, "reader");
    const double processes = IopsOf(record, "depth_process_" + step, "reader");
    EXPECT_NEAR(threads, std::min(64, 8 * depth) * 50, 0.1 * threads) << depth;
    EXPECT_NEAR(processes / threads, 1, 0.05) << depth;
  }
  // Each step begins when nothing of the one before it is left.
  for (const PhaseRecord& phase : record.phases) {
    for (const JobRecord& job : phase.jobs) EXPECT_EQ(job.outstanding, 0u) << phase.name;
  }
}

}  // namespace
}  // namespace blkfair::testing_support
