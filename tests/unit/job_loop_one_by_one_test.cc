// A job of depth 1 has a loop of its own (JobLoop::Run): it must see and count what the general one
// does, whatever the engine does to it.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>

#include "base/hash.h"
#include "harness/run/job_loop_steps.h"
#include "results/record_json.h"

namespace blkfair {
namespace {

constexpr int64_t kBarrierNs = 1'000'000;
constexpr int64_t kRampNs = 10'000;
constexpr int64_t kRuntimeNs = 100'000;

// How often out of 16 something happens to a request.
struct Moods {
  const char* name;
  uint64_t refused = 0;     // with EIO
  uint64_t no_room = 0;     // nothing is taken, though nothing is in flight
  uint64_t failed = 0;      // comes back with EIO
  uint64_t cut_short = 0;   // comes back with half of it
  uint64_t slow = 0;        // takes longer than a wait may
  uint64_t lost_after = 0;  // from this request on, nothing comes back; 0: never
  int reap_error_at = 0;    // the reap that fails altogether; 0: none
};

class MoodyEngine final : public Engine {
 public:
  MoodyEngine(const Moods& moods, uint64_t seed, ManualClock* clock)
      : moods_(moods), seed_(seed), clock_(clock) {}

  Result<void> Open(const EngineOpenArgs&) override { return {}; }

  int Submit(std::span<const IoOp> ops) override {
    EXPECT_EQ(ops.size(), 1u);
    EXPECT_FALSE(busy_);
    const uint64_t mood = Mix64(seed_ + submits_++);
    Pass(static_cast<int64_t>(mood % 300));
    if (mood / 1024 % 16 < moods_.no_room) return 0;
    if (mood / 1024 % 16 < moods_.no_room + moods_.refused) return -EIO;
    busy_ = true;
    completion_ = {ops[0].slot, static_cast<int32_t>(ops[0].length_bytes)};
    if (mood / 16384 % 16 < moods_.failed) completion_.result = -EIO;
    if (mood / 65536 % 16 < moods_.cut_short) completion_.result /= 2;
    done_at_ns_ = clock_->NowNs() + 100 + static_cast<int64_t>(mood % 1000);
    if (mood / 262144 % 16 < moods_.slow) done_at_ns_ += 7'000;
    if (moods_.lost_after != 0 && submits_ >= moods_.lost_after) done_at_ns_ += 1'000'000'000;
    return 1;
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    EXPECT_GE(timeout_ns, 0);
    EXPECT_EQ(min, 1u);
    if (++reaps_ == moods_.reap_error_at) return -EBADF;
    if (!busy_ || done_at_ns_ > clock_->NowNs() + timeout_ns) {
      Pass(timeout_ns);
      return 0;
    }
    clock_->Set(std::max(clock_->NowNs(), done_at_ns_));
    busy_ = false;
    out[0] = completion_;
    return 1;
  }

 private:
  void Pass(int64_t ns) { clock_->Set(clock_->NowNs() + ns); }

  const Moods moods_;
  const uint64_t seed_;
  ManualClock* const clock_;
  uint64_t submits_ = 0;
  int reaps_ = 0;
  bool busy_ = false;
  IoCompletion completion_ = {};
  int64_t done_at_ns_ = 0;
};

struct Seen {
  std::string record;
  int reap_errno = 0;
};

Seen RunDepthOne(const Moods& moods, uint64_t seed, IssuePoint issue_point, bool one_by_one) {
  ManualClock clock;
  clock.Set(kBarrierNs);
  MoodyEngine engine(moods, seed, &clock);
  JobLoopConfig config;
  config.issue_point = issue_point;
  config.wake_limit_ns = 5'000;
  config.drain_limit_ns = 30'000;
  JobAccount::Shape shape;
  shape.has_slat = HasSlat(issue_point);
  shape.cell_ns = 10'000;
  shape.length_ns = kRampNs + kRuntimeNs;
  Queue queue;
  queue.size_bytes = uint64_t{1} << 20;
  JobAccount account(shape);
  JobLoop<ManualClockView> loop(config, *Workload::Make(JobSpec(), 0, queue, seed), &engine,
                                &account, ManualClockView(&clock));
  const PhaseTimes times = {kBarrierNs, kBarrierNs + kRampNs, kBarrierNs + kRampNs + kRuntimeNs};
  loop.Start(times);
  if (one_by_one) {
    const std::atomic<int64_t> close_ns = times.close_ns;
    loop.Run(close_ns);
  } else {
    while (!loop.done()) {
      const Need need = loop.Submit();
      if (!loop.done()) loop.Reap(need);
    }
  }
  PhaseRecord phase;
  phase.jobs.emplace_back();
  account.Finish(loop.outstanding(), &phase.jobs.front());
  // After a refusal the general loop gives its driver a turn, in the form of a reap.
  phase.jobs.front().reap_calls = 0;
  return {PhaseToJson(phase), loop.reap_errno()};
}

class JobLoopOneByOne : public ::testing::TestWithParam<Moods> {};

TEST_P(JobLoopOneByOne, CountsWhatTheGeneralLoopCounts) {
  for (const IssuePoint point : {IssuePoint::kAfterSubmit, IssuePoint::kBeforeSubmit}) {
    for (uint64_t seed = 0; seed < 50; seed++) {
      const Seen general = RunDepthOne(GetParam(), seed * 1000, point, false);
      const Seen one_by_one = RunDepthOne(GetParam(), seed * 1000, point, true);
      ASSERT_EQ(one_by_one.record, general.record) << seed;
      ASSERT_EQ(one_by_one.reap_errno, general.reap_errno) << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllMoods, JobLoopOneByOne,
    ::testing::Values(Moods{.name = "Obliging"}, Moods{.name = "Refusing", .refused = 3},
                      Moods{.name = "Full", .no_room = 3}, Moods{.name = "Failing", .failed = 4},
                      Moods{.name = "Short", .cut_short = 4}, Moods{.name = "Slow", .slow = 5},
                      Moods{.name = "Losing", .lost_after = 20},
                      Moods{.name = "Broken", .slow = 2, .reap_error_at = 30},
                      Moods{.name = "All",
                            .refused = 1,
                            .no_room = 1,
                            .failed = 1,
                            .cut_short = 1,
                            .slow = 2,
                            .lost_after = 90}),
    [](const auto& row) { return row.param.name; });

TEST(JobLoopOneByOne, ClosesWhenItIsTold) {
  ManualClock clock;
  clock.Set(kBarrierNs);
  MoodyEngine engine({.name = ""}, 1, &clock);
  JobAccount::Shape shape;
  shape.length_ns = kRuntimeNs;
  Queue queue;
  queue.size_bytes = uint64_t{1} << 20;
  JobAccount account(shape);
  JobLoop<ManualClockView> loop(JobLoopConfig(), *Workload::Make(JobSpec(), 0, queue, 1), &engine,
                                &account, ManualClockView(&clock));
  loop.Start({kBarrierNs, kBarrierNs, kBarrierNs + kRuntimeNs});
  const std::atomic<int64_t> close_ns = kBarrierNs + kRuntimeNs / 2;
  loop.Run(close_ns);
  EXPECT_TRUE(loop.done());
  EXPECT_EQ(account.close_ns(), kBarrierNs + kRuntimeNs / 2);
  EXPECT_LT(clock.NowNs(), kBarrierNs + kRuntimeNs / 2 + 2'000);
}

}  // namespace
}  // namespace blkfair
