// The parts of JobLoop that are off its hot path: refusals, pacing, the close and what follows it.
// Included by job_loop_steps.h alone.
#pragma once

#include <algorithm>

#include "harness/run/job_loop.h"

namespace blkfair {

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::WatchClose(const std::atomic<int64_t>& close_ns,
                                            int64_t* known_ns) {
  const int64_t asked_ns = close_ns.load(std::memory_order_relaxed);
  if (asked_ns == *known_ns) [[likely]]
    return;
  *known_ns = asked_ns;
  CloseAt(asked_ns);
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::FindDeadline() {
  deadline_ns_ = account_->close_ns() + (account_->closed() ? config_.drain_limit_ns : 0);
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Break(int os_errno) {
  reap_errno_ = os_errno;
  done_ = true;
}

// Free slots that may be made at now_ns, up to `most`. They become ready in the order in which they
// became free, since think time is the same for all.
template <typename ClockT, typename ObserverT>
uint32_t JobLoop<ClockT, ObserverT>::ReadySlots(uint32_t most, int64_t now_ns) const {
  uint32_t ready = 0;
  while (ready < most && slots_[FreeSlot(ready)].ready_ns <= now_ns) ready++;
  return ready;
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Refuse(const IoOp& op, int os_errno) {
  refused_ = true;
  JobAccount::Batch batch = account_->BeginBatch(now_ns_);
  account_->AddError(batch, op.direction, -os_errno);
  account_->EndBatch(batch, 1);
  free_[(free_first_ + free_count_) & free_mask_] = op.slot;
  free_count_++;
  HoldBack(1);
  pending_first_++;
  pending_count_--;
}

// After the close nothing more is handed over, and what is in flight is awaited up to a limit.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::Drain() {
  account_->Dropped(pending_count_);
  free_count_ += pending_count_;
  pending_count_ = 0;
  done_ = submitted() == 0 || now_ns_ >= deadline_ns_;
}

// When a slot waits for nothing but its time.
template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::PacedNeed(Need need) const {
  if (account_->closed() || free_count_ == 0) return need;
  const int64_t ready_ns = refused_ ? now_ns_ : slots_[FreeSlot(0)].ready_ns;
  need.deadline_ns = std::min(need.deadline_ns, ready_ns);
  return need;
}

// The `count` slots that became free last are not ready before their think time is over.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::HoldBack(uint32_t count) {
  for (uint32_t i = free_count_ - count; i < free_count_; i++) {
    slots_[FreeSlot(i)].ready_ns = now_ns_ + config_.think_time_ns;
  }
}

}  // namespace blkfair
