// JobLoop: one job's I/O in one phase, as a state machine that owns no thread. Its driver calls
// Submit, which makes and hands over what may go now and says what to wait for, and Reap, which
// waits for it (or, under virtual time, is called when it has come): while (!loop.done())
// loop.Reap(loop.Submit()). The clock, the engine and the account are given; each I/O is stamped
// here and nowhere else. Used by one thread. From Start to done nothing here allocates, locks,
// throws or makes a system call, the engine's and the clock's excepted.
#pragma once

#include <algorithm>
#include <atomic>
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

  void Start(const PhaseTimes& times);
  // The window closes at `close_ns` already, or as soon after as this job can.
  void CloseAt(int64_t close_ns) { account_->CloseAt(std::max(close_ns, now_ns_)); }

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
    int64_t ready_ns;  // not to be made before
    Direction direction;
  };

  // The parts of a step. Inlined into it: at depth 1 their frames would cost as much as their work.
  [[gnu::always_inline]] inline Need SubmitStep();
  [[gnu::always_inline]] inline void ReapStep(Need need);
  [[gnu::always_inline]] inline bool MakeBatch();
  [[gnu::always_inline]] inline bool SubmitPending();
  template <bool kHasSlat>
  [[gnu::always_inline]] inline void CompleteBatch(uint32_t count);
  [[gnu::always_inline]] inline Need NextNeed() const;
  [[gnu::noinline]] Need PacedNeed(Need need) const;
  [[gnu::noinline]] uint32_t ReadySlots(uint32_t most, int64_t now_ns) const;
  [[gnu::noinline]] void Refuse(const IoOp& op, int os_errno);
  [[gnu::noinline]] void Drain();

  // Every slot is free, pending, or with the engine.
  uint32_t in_flight() const { return config_.iodepth - free_count_; }
  uint32_t submitted() const { return config_.iodepth - free_count_ - pending_count_; }
  const Slot& FreeSlot(uint32_t i) const { return slots_[free_[(free_first_ + i) & free_mask_]]; }

  const JobLoopConfig config_;
  const Workload workload_;
  Engine* const engine_;
  JobAccount* const account_;
  [[no_unique_address]] ClockT clock_;
  [[no_unique_address]] ObserverT observer_;
  const bool paced_;

  int64_t now_ns_ = 0;      // the last stamp
  uint64_t made_ = 0;       // index of the next I/O
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
    free_[slot] = static_cast<uint16_t>(slot);
    slots_[slot].ready_ns = times.barrier_ns + config_.start_delay_ns;
  }
  free_count_ = config_.iodepth;
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::Submit() {
  return SubmitStep();
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Reap(Need need) {
  if (!done_) ReapStep(need);
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Run(const std::atomic<int64_t>& close_ns) {
  int64_t known_ns = account_->close_ns();
  while (true) {
    const int64_t asked_ns = close_ns.load(std::memory_order_relaxed);
    if (asked_ns != known_ns) [[unlikely]] {
      known_ns = asked_ns;
      CloseAt(asked_ns);
    }
    const Need need = SubmitStep();
    if (done_) return;
    ReapStep(need);
    if (done_) return;
  }
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::SubmitStep() {
  refused_ = false;
  if (owed_ == 0) {
    while (!account_->closed()) {
      if (pending_count_ == 0 && (free_count_ == 0 || !MakeBatch())) break;
      if (!SubmitPending()) break;
    }
  }
  if (account_->closed()) [[unlikely]]
    Drain();
  return NextNeed();
}

template <typename ClockT, typename ObserverT>
bool JobLoop<ClockT, ObserverT>::MakeBatch() {
  int64_t start_ns = clock_.NowNs();
  now_ns_ = start_ns;
  account_->Advance(start_ns, in_flight());
  uint32_t count = std::min(config_.batch_submit, free_count_);
  if (paced_) [[unlikely]]
    count = ReadySlots(count, start_ns);
  if (count == 0 || account_->closed()) return false;
  IoOp* const ops = pending_.data();
  Slot* const slots = slots_.data();
  const uint16_t* const free = free_.data();
  const uint32_t first = free_first_;
  const uint32_t mask = free_mask_;
  for (uint32_t i = 0; i < count; i++) {
    const uint16_t index = free[(first + i) & mask];
    const Workload::Access access = workload_.At(made_ + i);
    ops[i] = {access.offset_bytes, config_.bs_bytes, index, access.direction};
    slots[index].direction = access.direction;
  }
  uint64_t start_sum_ns = 0;
  for (uint32_t i = 0;;) {
    slots[ops[i].slot].stamps.start_ns = start_ns;
    start_sum_ns += static_cast<uint64_t>(start_ns);
    observer_.Made(ops[i], start_ns);
    if (++i == count) break;
    start_ns = clock_.NowNs();
  }
  made_ += count;
  free_first_ += count;
  free_count_ -= count;
  pending_first_ = 0;
  pending_count_ = count;
  account_->Made(start_sum_ns, in_flight());
  return true;
}

// Free slots that may be made at now_ns, up to `most`. They become ready in the order in which they
// became free, since think time is the same for all.
template <typename ClockT, typename ObserverT>
uint32_t JobLoop<ClockT, ObserverT>::ReadySlots(uint32_t most, int64_t now_ns) const {
  uint32_t ready = 0;
  while (ready < most && FreeSlot(ready).ready_ns <= now_ns) ready++;
  return ready;
}

// Hands over what is pending. False: the engine takes no more before something is reaped, or has
// refused a request (the driver then has its turn before the next one is tried).
template <typename ClockT, typename ObserverT>
bool JobLoop<ClockT, ObserverT>::SubmitPending() {
  const bool issued_after = HasSlat(config_.issue_point);
  do {
    const IoOp* const ops = pending_.data() + pending_first_;
    if (!issued_after) now_ns_ = clock_.NowNs();
    const int taken = engine_->Submit({ops, pending_count_});
    if (issued_after) now_ns_ = clock_.NowNs();
    const int64_t issue_ns = now_ns_;
    account_->CountSubmitCall();
    account_->Advance(issue_ns, in_flight());
    observer_.Submitted(pending_count_, taken);
    if (taken <= 0) [[unlikely]] {
      if (taken == 0 && submitted() > 0) return false;
      // Nothing in flight that could make room: waiting would be for ever.
      Refuse(ops[0], taken == 0 ? EAGAIN : -taken);
      return false;
    }
    const auto count = static_cast<uint32_t>(taken);
    CHECK(count <= pending_count_);
    Slot* const slots = slots_.data();
    for (uint32_t i = 0; i < count; i++) {
      slots[ops[i].slot].stamps.issue_ns = issue_ns;
      observer_.Issued(ops[i].slot, issue_ns);
    }
    pending_first_ += count;
    pending_count_ -= count;
  } while (pending_count_ > 0 && !account_->closed());
  return true;
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Refuse(const IoOp& op, int os_errno) {
  refused_ = true;
  account_->AddError(op.direction, -os_errno);
  account_->EndBatch(account_->BeginBatch(now_ns_), 1);
  free_[(free_first_ + free_count_) & free_mask_] = op.slot;
  slots_[op.slot].ready_ns = now_ns_ + config_.think_time_ns;
  free_count_++;
  pending_first_++;
  pending_count_--;
}

// After the close nothing more is handed over, and what is in flight is awaited up to a limit.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Drain() {
  account_->Dropped(pending_count_);
  free_count_ += pending_count_;
  pending_count_ = 0;
  done_ = submitted() == 0 || now_ns_ >= account_->close_ns() + config_.drain_limit_ns;
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::NextNeed() const {
  Need need{.min = 1, .max = config_.batch_complete, .deadline_ns = account_->close_ns()};
  if (account_->closed()) [[unlikely]] {
    need.max = config_.iodepth;
    need.deadline_ns += config_.drain_limit_ns;
  } else if (owed_ > 0) [[unlikely]] {
    need.min = need.max = owed_;
  } else if (pending_count_ == 0) {
    // With a request left over, one completion is enough to try it again.
    need.min = std::max(1u, std::min(need.max, submitted()));
  }
  if (paced_ || refused_) [[unlikely]]
    need = PacedNeed(need);
  need.deadline_ns = std::min(need.deadline_ns, now_ns_ + config_.wake_limit_ns);
  return need;
}

// When a slot waits for nothing but its time.
template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::PacedNeed(Need need) const {
  if (account_->closed() || free_count_ == 0) return need;
  const int64_t ready_ns = refused_ ? now_ns_ : FreeSlot(0).ready_ns;
  need.deadline_ns = std::min(need.deadline_ns, ready_ns);
  return need;
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::ReapStep(Need need) {
  const int64_t timeout_ns = std::max<int64_t>(0, need.deadline_ns - now_ns_);
  const int taken = engine_->Reap({completions_.data(), need.max}, need.min, timeout_ns);
  const int64_t now_ns = clock_.NowNs();
  now_ns_ = now_ns;
  account_->Advance(now_ns, in_flight());
  account_->CountReapCall();
  if (taken < 0) [[unlikely]] {
    reap_errno_ = -taken;
    done_ = true;
    return;
  }
  const auto count = static_cast<uint32_t>(taken);
  CHECK(count <= submitted());
  if (HasSlat(config_.issue_point)) {
    CompleteBatch<true>(count);
  } else {
    CompleteBatch<false>(count);
  }
  // What a timeout left behind still belongs to this batch; a slot whose think time is over does
  // not wait for it.
  owed_ = count >= need.min || paced_ ? 0 : std::min(need.min - count, submitted());
  if (account_->closed()) [[unlikely]]
    Drain();
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat>
void JobLoop<ClockT, ObserverT>::CompleteBatch(uint32_t count) {
  JobAccount& account = *account_;
  JobAccount::Batch batch = account.BeginBatch(now_ns_);
  const auto whole = static_cast<int32_t>(config_.bs_bytes);
  const uint32_t iodepth = config_.iodepth;
  const IoCompletion* const completions = completions_.data();
  Slot* const slots = slots_.data();
  uint16_t* const free = free_.data();
  const uint32_t free_end = free_first_ + free_count_;
  const uint32_t mask = free_mask_;
  const int64_t ready_ns = batch.now_ns + config_.think_time_ns;
  for (uint32_t i = 0; i < count; i++) {
    const IoCompletion completion = completions[i];
    CHECK(completion.slot < iodepth);
    Slot& slot = slots[completion.slot];
    observer_.Completed(completion, slot.stamps, batch.now_ns);
    if (completion.result == whole) [[likely]] {
      account.Add<kHasSlat>(batch, slot.stamps, slot.direction);
    } else {
      account.AddError(slot.direction, completion.result);
    }
    slot.ready_ns = ready_ns;
    free[(free_end + i) & mask] = static_cast<uint16_t>(completion.slot);
  }
  account.EndBatch(batch, count);
  free_count_ += count;
}

extern template class JobLoop<MonotonicClock>;
extern template class JobLoop<ManualClockView>;

}  // namespace blkfair
