#include "harness/run/phase_control.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace blkfair {

namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<int64_t>::is_always_lock_free);

// Not std::atomic::wait: its futexes are private to one process.
long Futex(std::atomic<uint32_t>* word, int operation, uint32_t value) {
  return ::syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void PhaseControl::Start(const PhaseTimes& times) {
  times_ = times;
  close_ns_.store(times.close_ns, std::memory_order_relaxed);
  OpenTo(kStarted);
}

void PhaseControl::CallOff() {
  if (!started()) OpenTo(kCalledOff);
}

void PhaseControl::OpenTo(Barrier state) {
  barrier_.store(state, std::memory_order_release);
  Futex(&barrier_, FUTEX_WAKE, INT_MAX);
}

bool PhaseControl::WaitForStart() {
  while (barrier_.load(std::memory_order_acquire) == kShut) Futex(&barrier_, FUTEX_WAIT, kShut);
  return started();
}

}  // namespace blkfair
