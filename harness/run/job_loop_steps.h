// The steps of JobLoop, as templates: for its own source file and for tests that watch every stamp
// through an observer of theirs. Everybody else includes job_loop.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>

#include "base/check.h"
#include "harness/run/job_loop.h"
#include "harness/run/job_loop_slow.h"

namespace blkfair {

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
      paced_(config.think_time_ns > 0 || config.start_delay_ns > 0 || config.arrivals.open_loop()),
      next_(config.arrivals),
      due_(config.arrivals),
      slots_(config.iodepth),
      free_(std::bit_ceil(config.iodepth)),
      in_use_(config.iodepth),
      free_mask_(std::bit_ceil(config.iodepth) - 1),
      pending_(config.batch_submit),
      completions_(config.iodepth) {
  CHECK(config.iodepth >= 1 && config.iodepth <= 65536);
  CHECK(config.batch_submit >= 1 && config.batch_submit <= config.iodepth);
  CHECK(config.batch_complete >= 1 && config.batch_complete <= config.iodepth);
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Start(const PhaseTimes& times, ClockWatch* watch) {
  account_->Begin(times, watch);
  now_ns_ = times.barrier_ns;
  deadline_ns_ = times.close_ns;
  for (uint32_t slot = 0; slot < config_.iodepth; slot++) {
    free_[slot] = static_cast<uint16_t>(slot);
    slots_[slot].ready_ns = times.barrier_ns + config_.start_delay_ns;
  }
  free_count_ = config_.iodepth;
  next_.Start(times.barrier_ns + config_.start_delay_ns);
  due_ = next_;
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::Submit() {
  return HasSlat(config_.issue_point) ? SubmitStep<true>() : SubmitStep<false>();
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Reap(Need need) {
  if (done_) return;
  HasSlat(config_.issue_point) ? ReapStep<true>(need) : ReapStep<false>(need);
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Run(const std::atomic<int64_t>& close_ns) {
  const bool one = config_.iodepth == 1 && !paced_;
  if (HasSlat(config_.issue_point)) {
    one ? RunOneByOne<true>(close_ns) : RunSteps<true>(close_ns);
  } else {
    one ? RunOneByOne<false>(close_ns) : RunSteps<false>(close_ns);
  }
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat>
void JobLoop<ClockT, ObserverT>::RunSteps(const std::atomic<int64_t>& close_ns) {
  int64_t known_ns = account_->close_ns();
  while (true) {
    WatchClose(close_ns, &known_ns);
    const Need need = SubmitStep<kHasSlat>();
    if (done_) return;
    ReapStep<kHasSlat>(need);
    if (done_) return;
  }
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat>
void JobLoop<ClockT, ObserverT>::RunOneByOne(const std::atomic<int64_t>& close_ns) {
  int64_t known_ns = account_->close_ns();
  while (true) {
    WatchClose(close_ns, &known_ns);
    if (account_->closed()) [[unlikely]] {
      Drain();
      if (done_) return;
    } else if (free_count_ == 1) [[likely]] {
      if (!MakeBatch<true>() || !SubmitPending<kHasSlat, true>()) continue;
    }
    // A deadline that has passed meanwhile is seen after the wait, so that this is never for ever.
    const auto timeout_ns =
        static_cast<int64_t>(std::min(static_cast<uint64_t>(deadline_ns_ - now_ns_),
                                      static_cast<uint64_t>(config_.wake_limit_ns)));
    const int taken = engine_->Reap({completions_.data(), 1}, 1, timeout_ns);
    const int64_t now_ns = clock_.NowNs();
    Advance(now_ns);
    account_->CountReapCall();
    if (taken == 1) [[likely]] {
      CompleteBatch<kHasSlat, true>(1, now_ns);
      continue;
    }
    CHECK(taken <= 0);
    if (taken < 0) {
      Break(-taken);
      return;
    }
  }
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat>
Need JobLoop<ClockT, ObserverT>::SubmitStep() {
  refused_ = false;
  if (owed_ == 0) {
    while (!account_->closed()) {
      if (pending_count_ == 0 && (free_count_ == 0 || !MakeBatch<false>())) break;
      if (!SubmitPending<kHasSlat, false>()) break;
    }
  }
  if (account_->closed()) [[unlikely]]
    Drain();
  return NextNeed();
}

template <typename ClockT, typename ObserverT>
template <bool kOne>
bool JobLoop<ClockT, ObserverT>::MakeBatch() {
  int64_t start_ns = clock_.NowNs();
  if (Advance(start_ns) && account_->closed()) return false;
  uint32_t count = kOne ? 1 : std::min(config_.batch_submit, free_count_);
  if (!kOne && paced_) [[unlikely]] {
    count = ReadySlots(count, start_ns);
    if (count == 0) return false;
  }
  IoOp* const ops = pending_.data();
  Slot* const slots = slots_.data();
  const uint16_t* const free = free_.data();
  const uint32_t first = free_first_;
  const uint32_t mask = free_mask_;
  for (uint32_t i = 0; i < count; i++) {
    const uint16_t index = kOne ? 0 : free[(first + i) & mask];
    const Workload::Access access = workload_.At(made_ + i);
    ops[i] = {access.offset_bytes, config_.bs_bytes, index, access.direction};
    slots[index].direction = access.direction;
  }
  uint64_t start_sum_ns = 0;
  for (uint32_t i = 0;;) {
    slots[kOne ? 0 : ops[i].slot].stamps.start_ns = start_ns;
    start_sum_ns += static_cast<uint64_t>(start_ns);
    observer_.Made(ops[i], start_ns);
    if (++i == count) break;
    start_ns = clock_.NowNs();
  }
  made_ += count;
  if (kOne) {
    free_count_ = 0;
  } else {
    free_count_ -= count;
    free_first_ += count;
    pending_first_ = 0;
    pending_count_ = count;
  }
  account_->Made(start_sum_ns, kOne ? 1 : in_flight());
  return true;
}

// Hands over what is pending. False: the engine takes no more before something is reaped, or has
// refused a request (the driver then has its turn before the next one is tried).
template <typename ClockT, typename ObserverT>
template <bool kHasSlat, bool kOne>
bool JobLoop<ClockT, ObserverT>::SubmitPending() {
  do {
    const IoOp* const ops = pending_.data() + (kOne ? 0 : pending_first_);
    const uint32_t offered = kOne ? 1 : pending_count_;
    int64_t issue_ns = kHasSlat ? 0 : clock_.NowNs();
    const int taken = engine_->Submit({ops, offered});
    if (kHasSlat) issue_ns = clock_.NowNs();
    Advance(issue_ns);
    account_->CountSubmitCall();
    observer_.Submitted(offered, taken);
    if (kOne ? taken != 1 : taken <= 0) [[unlikely]] {
      CHECK(taken <= 0);
      if (!kOne && taken == 0 && submitted() > 0) return false;
      // Nothing in flight that could make room: waiting would be for ever.
      if (kOne) pending_count_ = 1;
      Refuse(ops[0], taken == 0 ? EAGAIN : -taken);
      return false;
    }
    CHECK(kOne || static_cast<uint32_t>(taken) <= offered);
    const uint32_t count = kOne ? 1 : static_cast<uint32_t>(taken);
    if (!kOne) account_->CountSubmitSize(count);
    Slot* const slots = slots_.data();
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t index = kOne ? 0 : ops[i].slot;
      StampIssue(&slots[index], index, issue_ns);
    }
    if (kOne) return true;
    pending_first_ += count;
    pending_count_ -= count;
  } while (pending_count_ > 0 && !account_->closed());
  return true;
}

template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::NextNeed() const {
  Need need{.min = 1, .max = 1, .deadline_ns = deadline_ns_};
  if (account_->closed()) [[unlikely]] {
    need.max = config_.iodepth;
  } else {
    need.max = owed_ > 0 ? owed_ : config_.batch_complete;
    // With a request left over, one completion is enough to try it again.
    if (pending_count_ == 0) need.min = std::max(1u, std::min(need.max, submitted()));
  }
  if (paced_ || refused_) [[unlikely]]
    need = PacedNeed(need);
  need.deadline_ns = std::min(need.deadline_ns, now_ns_ + config_.wake_limit_ns);
  return need;
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat>
void JobLoop<ClockT, ObserverT>::ReapStep(Need need) {
  const int64_t timeout_ns = std::max<int64_t>(0, need.deadline_ns - now_ns_);
  const int taken = engine_->Reap({completions_.data(), need.max}, need.min, timeout_ns);
  const int64_t now_ns = clock_.NowNs();
  Advance(now_ns);
  account_->CountReapCall();
  const auto count = static_cast<uint32_t>(std::max(taken, 0));
  CHECK(count <= submitted());
  if (count > 0) [[likely]]
    CompleteBatch<kHasSlat, false>(count, now_ns);
  // What a timeout left behind still belongs to this batch; a slot whose think time is over does
  // not wait for it.
  owed_ = count >= need.min || paced_ ? 0 : std::min(need.min - count, submitted());
  if (account_->closed()) [[unlikely]]
    Drain();
  if (taken < 0) [[unlikely]]
    Break(-taken);
}

template <typename ClockT, typename ObserverT>
template <bool kHasSlat, bool kOne>
void JobLoop<ClockT, ObserverT>::CompleteBatch(uint32_t count, int64_t now_ns) {
  JobAccount& account = *account_;
  JobAccount::Batch batch = account.BeginBatch(now_ns);
  const auto whole = static_cast<int32_t>(config_.bs_bytes);
  const uint32_t iodepth = kOne ? 1 : config_.iodepth;
  const IoCompletion* const completions = completions_.data();
  Slot* const slots = slots_.data();
  uint16_t* const free = free_.data();
  const uint32_t free_end = free_first_ + free_count_;
  const uint32_t mask = free_mask_;
  for (uint32_t i = 0; i < count; i++) {
    const IoCompletion completion = completions[i];
    CHECK(completion.slot < iodepth);
    const Slot& slot = slots[kOne ? 0 : completion.slot];
    observer_.Completed(completion, slot.stamps, batch.now_ns);
    if (completion.result == whole) [[likely]] {
      account.Add<kHasSlat>(batch, slot.stamps, slot.direction);
    } else {
      account.AddError(batch, slot.direction, completion.result);
    }
    if (!kOne) free[(free_end + i) & mask] = static_cast<uint16_t>(completion.slot);
  }
  account.EndBatch(batch, count);
  free_count_ = kOne ? 1 : free_count_ + count;
  if (!kOne && paced_) [[unlikely]] {
    if (config_.arrivals.open_loop()) AddResponses(count);
    HoldBack(count);
  }
}

}  // namespace blkfair
