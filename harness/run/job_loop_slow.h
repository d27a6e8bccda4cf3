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

// Time has passed the end of a cell, the open or the close.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::PassEdge() {
  if (account_->part() != part_) NoteUnfinished();
  FindDeadline();
}

template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::NoteUnfinished() {
  std::fill(in_use_.begin(), in_use_.end(), 1);
  for (uint32_t i = 0; i < free_count_; i++) in_use_[FreeSlot(i)] = 0;
  for (uint32_t i = 0; i < config_.iodepth; i++) {
    if (in_use_[i] != 0) account_->NoteUnfinished(part_, slots_[i].stamps, slots_[i].ready_ns);
  }
  part_ = account_->part();
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
uint32_t JobLoop<ClockT, ObserverT>::ReadySlots(uint32_t most, int64_t now_ns) {
  uint32_t ready = 0;
  while (ready < most && slots_[FreeSlot(ready)].ready_ns <= now_ns) ready++;
  return config_.arrivals.open_loop() ? TakeDue(ready, now_ns) : ready;
}

// Gives up to `most` free slots the I/Os that are due at now_ns.
template <typename ClockT, typename ObserverT>
uint32_t JobLoop<ClockT, ObserverT>::TakeDue(uint32_t most, int64_t now_ns) {
  CountDue(now_ns + 1);
  const uint64_t backlog = due_.index() - next_.index();
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(most, backlog));
  if (count == 0) return 0;
  // Held up by nothing but this loop: overdue, with a slot free, since it was last looked at.
  account_->NoteBehind(now_ns - std::max({next_.next_ns() + next_.interval_ns(),
                                          slots_[FreeSlot(0)].ready_ns, looked_ns_}));
  looked_ns_ = now_ns;
  for (uint32_t i = 0; i < count; i++) {
    Slot& slot = slots_[FreeSlot(i)];
    if (slot.ready_ns > next_.next_ns()) account_->NoteLate(next_.next_ns());
    slot.ready_ns = next_.next_ns();
    next_.Advance();
  }
  account_->NoteBacklog(backlog - count);
  return count;
}

// Every I/O that is due before `before_ns` is counted, but for those after the close.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::CountDue(int64_t before_ns) {
  before_ns = std::min(before_ns, account_->close_ns());
  for (; due_.next_ns() < before_ns; due_.Advance()) account_->NoteDue(due_.next_ns());
}

// Of the completions just reaped, while their slots still say when they were due.
template <typename ClockT, typename ObserverT>
void JobLoop<ClockT, ObserverT>::AddResponses(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const IoCompletion& completion = completions_[i];
    if (completion.result != static_cast<int32_t>(config_.bs_bytes)) continue;
    const Slot& slot = slots_[completion.slot];
    account_->AddResponse(slot.direction, slot.stamps, slot.ready_ns, now_ns_);
  }
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
  if (config_.arrivals.open_loop()) {
    CountDue(account_->close_ns());
    account_->AddBacklogAtClose(due_.index() - next_.index() + pending_count_);
    for (; next_.index() < due_.index(); next_.Advance()) {
      const int64_t due_ns = next_.next_ns();
      account_->NoteOverdue(due_ns);
      if (free_count_ == 0 || slots_[FreeSlot(0)].ready_ns > due_ns) account_->NoteLate(due_ns);
    }
  }
  free_count_ += pending_count_;
  pending_count_ = 0;
  done_ = submitted() == 0 || now_ns_ >= deadline_ns_;
}

// When a slot waits for nothing but its time.
template <typename ClockT, typename ObserverT>
Need JobLoop<ClockT, ObserverT>::PacedNeed(Need need) const {
  if (account_->closed() || free_count_ == 0) return need;
  int64_t ready_ns = refused_ ? now_ns_ : slots_[FreeSlot(0)].ready_ns;
  if (config_.arrivals.open_loop()) ready_ns = std::max(ready_ns, next_.next_ns());
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
