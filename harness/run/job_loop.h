// JobLoop: one job's I/O in one phase, as a state machine that owns no thread. Its driver calls
// Submit, which makes and hands over what may go now and says what to wait for, and Reap, which
// waits for it (or, under virtual time, is called when it has come): while (!loop.done())
// loop.Reap(loop.Submit()). The clock, the engine and the account are given; each I/O is stamped
// here and nowhere else. Used by one thread. From Start to done nothing here allocates, locks,
// throws or makes a system call, the engine's and the clock's excepted.
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/stamps.h"
#include "engines/engine.h"
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
  int64_t drain_limit_ns = 30'000'000'000;
  // No single wait is longer, so that the driver can look whether the phase was cut short.
  int64_t wake_limit_ns = std::numeric_limits<int64_t>::max();
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

  void Start(const PhaseTimes& times);
  // The window closes at `close_ns` already, or as soon after as this job can.
  void CloseAt(int64_t close_ns) { account_->CloseAt(close_ns); }

  Need Submit();
  void Reap(const Need& need);

  // Drained, given up draining, or broken.
  bool done() const { return done_; }
  // I/Os that never came back.
  uint32_t outstanding() const { return submitted_; }
  // errno of a reap that failed altogether; 0 otherwise.
  int reap_errno() const { return reap_errno_; }

 private:
  struct Slot {
    Stamps stamps;
    int64_t ready_ns;  // not to be made before; kept only where there is a delay or think time
    Direction direction;
  };

  bool MakeBatch();
  bool SubmitPending();
  void Refuse(const IoOp& op, int os_errno);
  template <bool kHasSlat>
  void CompleteBatch(std::span<const IoCompletion> completions);
  Need NextNeed() const;

  void Free(uint32_t slot) {
    if (paced_) slots_[slot].ready_ns = now_ns_ + config_.think_time_ns;
    free_[(free_first_ + free_count_) & free_mask_] = static_cast<uint16_t>(slot);
    free_count_++;
  }
  // Free slots that may be made at now_ns, up to `most`. They become ready in the order in which
  // they became free, since think time is the same for all.
  uint32_t ReadySlots(uint32_t most, int64_t now_ns) const {
    const uint32_t count = std::min(most, free_count_);
    if (!paced_) return count;
    uint32_t ready = 0;
    while (ready < count && FreeSlot(ready).ready_ns <= now_ns) ready++;
    return ready;
  }
  const Slot& FreeSlot(uint32_t i) const { return slots_[free_[(free_first_ + i) & free_mask_]]; }
  void Drain();

  const JobLoopConfig config_;
  const Workload workload_;
  Engine* const engine_;
  JobAccount* const account_;
  [[no_unique_address]] ClockT clock_;
  [[no_unique_address]] ObserverT observer_;
  const bool paced_;

  int64_t now_ns_ = 0;      // the last stamp
  uint64_t made_ = 0;       // index of the next I/O
  uint32_t submitted_ = 0;  // taken by the engine and not reaped
  uint32_t owed_ = 0;       // completions still missing from the current batch of them
  bool refused_ = false;    // since Submit was last called
  bool done_ = false;
  int reap_errno_ = 0;

  std::vector<Slot> slots_;
  std::vector<uint16_t> free_;  // ring of slots, in the order in which they became free
  uint32_t free_mask_;
  uint32_t free_first_ = 0;
  uint32_t free_count_ = 0;
  std::vector<IoOp> pending_;  // made, not yet taken by the engine
  uint32_t pending_first_ = 0;
  uint32_t pending_count_ = 0;
  std::vector<IoCompletion> completions_;
};

template <typename ClockT, typename ObserverT>
JobLoop<ClockT, ObserverT>::JobLoop(const JobLoopConfig& config, const Workload& workload,
                                    Engine* engine, JobAccount* account, ClockT clock,
                                    ObserverT observer)
    : config_(config),
      workload_(workload),
      engine_(engine),
      account_(account),
      clock_(clock),
      observer_(observer),
      paced_(config.think_time_ns > 0 || config.start_delay_ns > 0),
      slots_(config.iodepth),
      free_(std::bit_ceil(config.iodepth)),
      free_mask_(std::bit_ceil(config.iodepth) - 1),
      pending_(config.batch_submit),
      completions_(config.iodepth) {
  CHECK(config.iodepth >= 1 && config.iodepth <= 65536);
  CHECK(config.batch_submit >= 1 && config.batch_submit <= config.iodepth);
  CHECK(config.batch_complete >= 1 && config.batch_complete <= config.iodepth);
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Start(const PhaseTimes& times) {
  account_->Begin(times);
  now_ns_ = times.barrier_ns;
  for (uint32_t slot = 0; slot < config_.iodepth; slot++) {
    Free(slot);
    slots_[slot].ready_ns = times.barrier_ns + config_.start_delay_ns;
  }
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::Submit() {
  refused_ = false;
  while (owed_ == 0 && !account_->closed()) {
    if (pending_count_ == 0 && !MakeBatch()) break;
    if (!SubmitPending()) break;
  }
  if (account_->closed()) Drain();
  return NextNeed();
}

template <typename ClockT, typename ObserverT>
bool JobLoop<ClockT, ObserverT>::MakeBatch() {
  if (free_count_ == 0) return false;
  int64_t start_ns = clock_.NowNs();
  now_ns_ = start_ns;
  const uint32_t count = ReadySlots(config_.batch_submit, start_ns);
  account_->Advance(start_ns);
  if (count == 0 || account_->closed()) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (i > 0) start_ns = clock_.NowNs();
    const uint16_t index = free_[free_first_ & free_mask_];
    free_first_++;
    const Workload::Access access = workload_.At(made_++);
    Slot& slot = slots_[index];
    slot.stamps.start_ns = start_ns;
    slot.direction = access.direction;
    pending_[i] = {access.offset_bytes, config_.bs_bytes, index, access.direction};
    observer_.Made(pending_[i], start_ns);
  }
  free_count_ -= count;
  pending_first_ = 0;
  pending_count_ = count;
  account_->Made(count);
  return true;
}

// Hands over what is pending. False: the engine takes no more before something is reaped, or has
// refused a request (the driver then has its turn before the next one is tried).
template <typename ClockT, typename ObserverT>
bool JobLoop<ClockT, ObserverT>::SubmitPending() {
  const bool issued_after = config_.issue_point == IssuePoint::kAfterSubmit;
  while (pending_count_ > 0 && !account_->closed()) {
    const IoOp* ops = pending_.data() + pending_first_;
    int64_t issue_ns = issued_after ? 0 : clock_.NowNs();
    const int taken = engine_->Submit({ops, pending_count_});
    if (issued_after) issue_ns = clock_.NowNs();
    now_ns_ = issue_ns;
    account_->CountSubmitCall();
    account_->PassEdges(issue_ns);
    observer_.Submitted(pending_count_, taken);
    if (taken == 0 && submitted_ > 0) return false;
    if (taken <= 0) {
      // Nothing in flight that could make room: waiting would be for ever.
      Refuse(ops[0], taken == 0 ? EAGAIN : -taken);
      return false;
    }
    const auto count = static_cast<uint32_t>(taken);
    CHECK(count <= pending_count_);
    for (uint32_t i = 0; i < count; i++) {
      slots_[ops[i].slot].stamps.issue_ns = issue_ns;
      observer_.Issued(ops[i].slot, issue_ns);
    }
    submitted_ += count;
    pending_first_ += count;
    pending_count_ -= count;
  }
  return true;
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Refuse(const IoOp& op, int os_errno) {
  refused_ = true;
  pending_first_++;
  pending_count_--;
  account_->Advance(now_ns_);
  JobAccount::Batch batch = account_->BeginBatch(now_ns_);
  account_->AddError(&batch, op.direction, -os_errno);
  account_->EndBatch(batch);
  Free(op.slot);
}

// After the close nothing more is handed over, and what is in flight is awaited up to a limit.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Drain() {
  account_->Dropped(pending_count_);
  pending_count_ = 0;
  done_ = submitted_ == 0 || now_ns_ >= account_->close_ns() + config_.drain_limit_ns;
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::NextNeed() const {
  Need need;
  if (account_->closed()) {
    need.max = config_.iodepth;
    need.deadline_ns = account_->close_ns() + config_.drain_limit_ns;
  } else {
    need.max = owed_ > 0 ? owed_ : config_.batch_complete;
    // With a request left over, one completion is enough to try it again.
    if (pending_count_ == 0) need.min = std::max(1u, std::min(need.max, submitted_));
    need.deadline_ns = refused_ ? now_ns_ : account_->close_ns();
    if (paced_ && free_count_ > 0) {
      need.deadline_ns = std::min(need.deadline_ns, FreeSlot(0).ready_ns);
    }
  }
  if (need.deadline_ns - now_ns_ > config_.wake_limit_ns) {
    need.deadline_ns = now_ns_ + config_.wake_limit_ns;
  }
  return need;
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Reap(const Need& need) {
  if (done_) return;
  const int64_t timeout_ns = std::max<int64_t>(0, need.deadline_ns - now_ns_);
  const int count = engine_->Reap({completions_.data(), need.max}, need.min, timeout_ns);
  now_ns_ = clock_.NowNs();
  account_->Advance(now_ns_);
  account_->CountReapCall();
  if (count < 0) {
    reap_errno_ = -count;
    done_ = true;
    return;
  }
  const std::span<const IoCompletion> reaped(completions_.data(), static_cast<size_t>(count));
  if (HasSlat(config_.issue_point)) {
    CompleteBatch<true>(reaped);
  } else {
    CompleteBatch<false>(reaped);
  }
  const auto got = static_cast<uint32_t>(count);
  CHECK(got <= submitted_);
  submitted_ -= got;
  // What a timeout left behind still belongs to this batch; a slot whose think time is over does
  // not wait for it.
  owed_ = paced_ || got >= need.min ? 0 : std::min(need.min - got, submitted_);
  if (account_->closed()) Drain();
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat>
void JobLoop<ClockT, ObserverT>::CompleteBatch(std::span<const IoCompletion> completions) {
  JobAccount::Batch batch = account_->BeginBatch(now_ns_);
  const auto whole = static_cast<int32_t>(config_.bs_bytes);
  for (const IoCompletion& completion : completions) {
    CHECK(completion.slot < config_.iodepth);
    const Slot& slot = slots_[completion.slot];
    observer_.Completed(completion, slot.stamps, now_ns_);
    if (completion.result == whole) [[likely]] {
      account_->Add<kHasSlat>(&batch, slot.stamps, slot.direction);
    } else {
      account_->AddError(&batch, slot.direction, completion.result);
    }
    Free(completion.slot);
  }
  account_->EndBatch(batch);
}

extern template class JobLoop<MonotonicClock>;
extern template class JobLoop<ManualClockView>;

}  // namespace blkfair
