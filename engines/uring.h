// Uring: one io_uring of the calling thread, shared by the engines that submit through it. Requests
// are written straight into the ring; completions are taken without a system call while there are
// any. Opened, used and destroyed by one thread (the kernel holds us to that: SINGLE_ISSUER).
#pragma once

#include <liburing.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>

#include "base/fd.h"
#include "base/result.h"
#include "engines/engine.h"

namespace blkfair {

class Uring {
 public:
  Uring() = default;
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Room for `entries` requests in flight. Every submission entry is zeroed; what the engine sets
  // in one stays there when the ring comes round, since the kernel only reads them.
  // kUnmet when the kernel has no io_uring, forbids it, or has one without timed waits.
  Result<void> Open(uint32_t entries);

  // Requests then name the file by index 0 (IOSQE_FIXED_FILE).
  Result<void> RegisterFile(int fd);
  // Buffer i is buffers[i * stride, + stride). kUnmet, with need and limit, when locked memory runs
  // out (RLIMIT_MEMLOCK): going on without them would measure something else.
  Result<void> RegisterBuffers(std::span<std::byte> buffers, size_t stride);

  std::span<io_uring_sqe> entries() { return {ring_.sq.sqes, ring_.sq.ring_entries}; }

  // The entries that the next Submit hands over; at most capacity() less what is in flight.
  struct Batch {
    io_uring_sqe* entries;
    uint32_t first;
    uint32_t mask;
    io_uring_sqe& Entry(uint32_t i) const { return entries[(first + i) & mask]; }
  };
  Batch NextBatch() { return {ring_.sq.sqes, tail_, ring_.sq.ring_mask}; }
  uint32_t capacity() const { return ring_.sq.ring_entries; }

  // Hands the first `count` entries of the batch to the kernel, as Engine::Submit does. What it
  // did not take is forgotten here.
  int Submit(uint32_t count);

  // As Engine::Reap.
  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns);

 private:
  // One io_uring_enter that waits for `min` completions; 0 or -errno.
  int Wait(uint32_t min, int64_t timeout_ns);
  uint32_t Ready() const {
    return std::atomic_ref(*ring_.cq.ktail).load(std::memory_order_acquire) - head_;
  }

  io_uring ring_ = {};
  bool open_ = false;
  uint32_t tail_ = 0;         // of the submission queue
  uint32_t head_ = 0;         // of the completion queue
  uint32_t enter_flags_ = 0;  // for the registered ring descriptor
};

// Whether this process may make a ring; kUnmet naming what forbids it otherwise.
Result<void> ProbeUring(std::string_view engine);

}  // namespace blkfair
