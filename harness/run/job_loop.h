// JobLoop: one job's I/O in one phase, as a state machine that owns no thread. Its driver calls
// Submit, which makes and hands over what may go now and says what to wait for, and Reap, which
// waits for it (or, under virtual time, is called when it has come): while (!loop.done())
// loop.Reap(loop.Submit()). The clock, the engine and the account are given; each I/O is stamped
// here and nowhere else. Used by one thread. From Start to done nothing here allocates, locks,
// throws or makes a system call, the engine's and the clock's excepted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "base/stamps.h"
#include "engines/engine.h"
#include "harness/run/arrivals.h"
#include "harness/run/job_account.h"
#include "harness/run/workload.h"

namespace blkfair {

struct JobLoopConfig {
  uint32_t iodepth = 1;
  uint32_t batch_submit = 1;    // at most so many per Engine::Submit
  uint32_t batch_complete = 1;  // so many are reaped before the next are made
  uint32_t bs_bytes = 4096;
  IssuePoint issue_point = IssuePoint::kAfterSubmit;
  int64_t think_time_ns = 0;  // per slot, from a completion to the next start
  int64_t start_delay_ns = 0;
  Arrivals arrivals = {};  // open loop: when I/Os are due
  int64_t drain_limit_ns = 30'000'000'000;
  // No single wait is longer, so that the driver can look whether the phase was cut short.
  int64_t wake_limit_ns = std::numeric_limits<int64_t>::max() / 2;
};

// What a driver waits for before it calls Reap: `min` completions, or the time `deadline_ns`.
struct Need {
  uint32_t min = 1;
  uint32_t max = 1;
  int64_t deadline_ns = 0;
};

// Sees every stamp of every I/O; this one sees nothing and costs nothing.
struct NoObserver {
  void Made(const IoOp&, int64_t /*start_ns*/) {}
  void Submitted(size_t /*offered*/, int /*taken*/) {}
  void Issued(uint32_t /*slot*/, int64_t /*issue_ns*/) {}
  void Completed(const IoCompletion&, const Stamps&, int64_t /*completion_ns*/) {}
};

template <typename ClockT, typename ObserverT = NoObserver>
class JobLoop {
 public:
  // Takes all memory. `engine` and `account` outlive the loop.
  JobLoop(const JobLoopConfig& config, const Workload& workload, Engine* engine,
          JobAccount* account, ClockT clock, ObserverT observer = {});

  // `watch`: see JobAccount::Begin.
  void Start(const PhaseTimes& times, ClockWatch* watch = nullptr);
  // The window closes at `close_ns` already, or as soon after as this job can.
  void CloseAt(int64_t close_ns) {
    account_->CloseAt(std::max(close_ns, now_ns_));
    FindDeadline();
  }

  Need Submit();
  void Reap(Need need);
  // Both in turn until done, for a driver that may block. `close_ns` is watched for an early close.
  void Run(const std::atomic<int64_t>& close_ns);

  // Drained, given up draining, or broken.
  bool done() const { return done_; }
  // I/Os that never came back.
  uint32_t outstanding() const { return submitted(); }
  // errno of a reap that failed altogether; 0 otherwise.
  int reap_errno() const { return reap_errno_; }

 private:
  struct Slot {
    Stamps stamps;
    // Of a free slot: since when it may be used. Of one in use, open loop: when its I/O was due.
    int64_t ready_ns;
    Direction direction;
  };

  // The one place that stamps issue, once for each I/O.
  void StampIssue(Slot* slot, uint32_t index, int64_t issue_ns) {
    slot->stamps.issue_ns = issue_ns;
    observer_.Issued(index, issue_ns);
#ifdef BLKFAIR_MUTATE_SECOND_STAMP  // to show that the conformance tests notice, nowhere else
    slot->stamps.issue_ns = clock_.NowNs();
#endif
  }

  // The parts of a step, compiled for what is known of the job beforehand: whether slat is
  // measured, and whether it is one I/O after the other (depth 1, without pauses): every count is
  // then 1, nothing stays pending, and batching costs nothing.
  // Inlined: at depth 1 their frames would cost as much as their work.
  template <bool kHasSlat>
  void RunSteps(const std::atomic<int64_t>& close_ns);
  template <bool kHasSlat>
  void RunOneByOne(const std::atomic<int64_t>& close_ns);
  [[gnu::always_inline]] inline void WatchClose(const std::atomic<int64_t>& close_ns,
                                                int64_t* known_ns);
  template <bool kHasSlat>
  [[gnu::always_inline]] inline Need SubmitStep();
  template <bool kHasSlat>
  [[gnu::always_inline]] inline void ReapStep(Need need);
  template <bool kOne>
  [[gnu::always_inline]] inline bool MakeBatch();
  template <bool kHasSlat, bool kOne>
  [[gnu::always_inline]] inline bool SubmitPending();
  template <bool kHasSlat, bool kOne>
  [[gnu::always_inline]] inline void CompleteBatch(uint32_t count, int64_t now_ns);
  [[gnu::always_inline]] inline Need NextNeed() const;
  [[gnu::noinline]] Need PacedNeed(Need need) const;
  [[gnu::noinline]] uint32_t ReadySlots(uint32_t most, int64_t now_ns);
  uint32_t TakeDue(uint32_t most, int64_t now_ns);
  void CountDue(int64_t before_ns);
  [[gnu::noinline]] void AddResponses(uint32_t count);
  [[gnu::noinline]] void Refuse(const IoOp& op, int os_errno);
  [[gnu::noinline]] void HoldBack(uint32_t count);
  [[gnu::noinline]] void Drain();
  // As JobAccount::Advance.
  [[gnu::always_inline]] inline bool Advance(int64_t now_ns) {
    now_ns_ = now_ns;
    if (!account_->Advance(now_ns, in_flight())) [[likely]]
      return false;
    PassEdge();
    return true;
  }
  [[gnu::noinline]] void PassEdge();
  void NoteUnfinished();
  void FindDeadline();
  [[gnu::noinline]] void Break(int os_errno);

  // Every slot is free, pending, or with the engine.
  uint32_t in_flight() const { return config_.iodepth - free_count_; }
  uint32_t submitted() const { return config_.iodepth - free_count_ - pending_count_; }
  uint16_t FreeSlot(uint32_t i) const { return free_[(free_first_ + i) & free_mask_]; }

  const JobLoopConfig config_;
  const Workload workload_;
  Engine* const engine_;
  JobAccount* const account_;
  [[no_unique_address]] ClockT clock_;
  [[no_unique_address]] ObserverT observer_;
  const bool paced_;

  int64_t now_ns_ = 0;   // the last stamp
  int64_t deadline_ns_;  // of waiting: the close, and after it the end of the drain
  uint64_t made_ = 0;    // index of the next I/O
  // Open loop: the next I/O to be made, and the next one that is not due yet.
  Arrivals next_;
  Arrivals due_;
  int64_t looked_ns_ = 0;  // when due I/Os were taken last
  uint32_t owed_ = 0;      // completions still missing from the current batch of them
  bool refused_ = false;   // since Submit was last called
  bool done_ = false;
  int reap_errno_ = 0;

  JobAccount::Part part_ = JobAccount::kRamp;  // the account's, when it was last looked at
  std::vector<Slot> slots_;
  std::vector<uint16_t> free_;   // ring of slots, in the order in which they became free
  std::vector<uint8_t> in_use_;  // by slot; made anew from free_ when it is asked
  uint32_t free_mask_;
  uint32_t free_first_ = 0;
  uint32_t free_count_ = 0;
  std::vector<IoOp> pending_;  // made, not yet taken by the engine
  uint32_t pending_first_ = 0;
  uint32_t pending_count_ = 0;
  std::vector<IoCompletion> completions_;
};

extern template class JobLoop<MonotonicClock>;
extern template class JobLoop<TscClock>;
extern template class JobLoop<ManualClockView>;

}  // namespace blkfair
