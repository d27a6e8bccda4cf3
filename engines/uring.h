// Uring: one io_uring of the calling thread, shared by the engines that submit through it. Requests
// are written straight into the ring; completions are taken without a system call while there are
// any. Opened, used and destroyed by one thread (the kernel holds us to that: SINGLE_ISSUER). What
// an engine asks for beside the plain ring is compiled in (UringMode) and costs the others nothing.
#pragma once

#include <liburing.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <span>

#include "base/fd.h"
#include "base/result.h"
#include "engines/engine.h"

namespace blkfair {

struct UringMode {
  bool sqpoll = false;  // a kernel thread takes what is enqueued
  bool polled = false;  // completions are polled for, not interrupted for
  bool wide = false;    // entries of 128 and completions of 32 bytes, as passthrough needs
};

class Uring {
 public:
  Uring() = default;
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Room for `entries` requests in flight. Every submission entry is zeroed; the kernel only reads
  // them.
  // kUnmet when the kernel has no io_uring, forbids it, or has one without timed waits.
  Result<void> Open(uint32_t entries, const UringMode& mode);

  // Requests then name the file by index 0 (IOSQE_FIXED_FILE).
  Result<void> RegisterFile(int fd);
  // The memory of slot i is buffers[i * stride, + stride), in as few registered buffers as hold it:
  // what the kernel keeps of each is looked up with every request. kUnmet, with need and limit,
  // when locked memory runs out (RLIMIT_MEMLOCK): going on without them would measure something
  // else.
  Result<void> RegisterBuffers(std::span<std::byte> buffers, size_t stride);
  uint16_t BufferOf(uint32_t slot) const { return static_cast<uint16_t>(slot / slots_per_buffer_); }

  // The submission entry of each slot, one per entry asked for (every other one in wide mode). A
  // slot keeps its entry, so most of it is written once, when the engine is opened; the ring proper
  // holds the slots' numbers.
  io_uring_sqe* entries() { return ring_.sq.sqes; }

  // Writes down the slots that the next Submit hands over: of those that are not in flight.
  class Batch {
   public:
    Batch(unsigned* ring, uint32_t tail, uint32_t mask) : ring_(ring), tail_(tail), mask_(mask) {}
    void Put(uint32_t slot) { ring_[tail_++ & mask_] = slot; }

   private:
    unsigned* const ring_;
    uint32_t tail_;
    const uint32_t mask_;
  };
  Batch NextBatch() { return {ring_.sq.array, tail_, ring_.sq.ring_mask}; }

  // Hands the `count` slots that were put to the kernel, as Engine::Submit does. What it did not
  // take is forgotten here.
  template <UringMode kMode>
  int Submit(uint32_t count) {
    // Without SQPOLL the kernel reads the tail inside io_uring_enter only, so it may be taken back.
    std::atomic_ref(*ring_.sq.ktail).store(tail_ + count, std::memory_order_release);
    if constexpr (kMode.sqpoll) return Enqueued(count);
    const int taken = ::io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), count, 0,
                                        enter_flags_, nullptr, _NSIG / 8);
    if (taken != static_cast<int>(count)) [[unlikely]]
      return TakeBack(count, taken);
    tail_ += count;
    return taken;
  }

  // As Engine::Reap. Polling the device, the kernel heeds no timeout.
  template <UringMode kMode>
  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) {
    const uint32_t ready = Ready();
    if (ready < min) [[unlikely]]
      return WaitAndTake<kMode>(out, min, timeout_ns);
    return Take<kMode>(out, ready);
  }

 private:
  // The kernel took only `taken` of `count` slots, or refused them with -errno.
  int TakeBack(uint32_t count, int taken);
  // SQPOLL: the kernel's thread sees the new tail; it is woken if it sleeps.
  int Enqueued(uint32_t count);
  template <UringMode kMode>
  int WaitAndTake(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns);
  // Up to `ready` completions, which are there.
  template <UringMode kMode>
  int Take(std::span<IoCompletion> out, uint32_t ready) {
    const uint32_t count = std::min(ready, static_cast<uint32_t>(out.size()));
    IoCompletion* const to = out.data();
    const io_uring_cqe* const entries = ring_.cq.cqes;
    const uint32_t mask = ring_.cq.ring_mask;
    const uint32_t head = head_;
    for (uint32_t i = 0; i != count; i++) {
      const uint32_t index = (head + i) & mask;
      const io_uring_cqe& entry = entries[kMode.wide ? 2 * index : index];
      to[i] = {static_cast<uint32_t>(entry.user_data), entry.res};
    }
    head_ = head + count;
    std::atomic_ref(*ring_.cq.khead).store(head + count, std::memory_order_release);
    return static_cast<int>(count);
  }
  // One io_uring_enter that waits for `min` completions; 0 or -errno.
  [[gnu::always_inline]] inline int Wait(uint32_t min, int64_t timeout_ns);
  uint32_t Ready() const {
    return std::atomic_ref(*ring_.cq.ktail).load(std::memory_order_acquire) - head_;
  }

  io_uring ring_ = {};
  bool open_ = false;
  uint32_t tail_ = 0;         // of the submission queue
  uint32_t head_ = 0;         // of the completion queue
  uint32_t enter_flags_ = 0;  // for the registered ring descriptor
  uint32_t slots_per_buffer_ = 1;
};

// Whether this process may make a ring; kUnmet naming what forbids it otherwise.
Result<void> ProbeUring(std::string_view engine, const UringMode& mode);

}  // namespace blkfair
