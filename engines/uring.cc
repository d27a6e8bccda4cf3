#include "engines/uring.h"

#include <sys/resource.h>
#include <sys/uio.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/kernel_fs.h"
#include "engines/uring_refusal.h"
#include "engines/wait.h"

namespace blkfair {

namespace {

// Completions are then posted only when the job's thread enters the kernel, and no other CPU is
// interrupted for them. DEFER_TASKRUN came with 6.1, COOP_TASKRUN with 5.19 (io_uring_setup(2)).
constexpr uint32_t kSetupFlags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN,
    IORING_SETUP_COOP_TASKRUN,
    0,
};

// What one registered buffer may hold (io_uring_register(2)).
constexpr size_t kRegisteredBufferMost = size_t{1} << 30;

int SetUp(uint32_t entries, const UringMode& mode, io_uring* ring) {
  const uint32_t always = (mode.polled ? IORING_SETUP_IOPOLL : 0) |
                          (mode.wide ? IORING_SETUP_SQE128 | IORING_SETUP_CQE32 : 0);
  const auto try_with = [&](uint32_t flags) {
    io_uring_params params = {};
    params.flags = always | flags;
    return ::io_uring_queue_init_params(entries, ring, &params);
  };
  // The kernel's thread posts completions then, so that nothing can be deferred to this one.
  if (mode.sqpoll) return try_with(IORING_SETUP_SQPOLL);
  int error = -EINVAL;
  for (const uint32_t flags : kSetupFlags) {
    error = try_with(flags);
    if (error != -EINVAL) break;
  }
  return error;
}

tl::unexpected<Error> SetUpFailed(int os_errno, std::string_view who) {
  const KernelFs fs(KernelRoots::Real());
  const auto disabled = fs.ReadInt(fs.roots().proc + "/sys/kernel/io_uring_disabled");
  return Fail(UringRefusal(who, os_errno, disabled ? std::optional(*disabled) : std::nullopt));
}

}  // namespace

Uring::~Uring() {
  if (open_) ::io_uring_queue_exit(&ring_);
}

Result<void> Uring::Open(uint32_t entries, const UringMode& mode) {
  const int error = SetUp(entries, mode, &ring_);
  if (error < 0) return SetUpFailed(-error, "io_uring");
  open_ = true;
  if ((ring_.features & IORING_FEAT_EXT_ARG) == 0) {
    return Fail(ErrorKind::kUnmet,
                "io_uring: no timed wait (IORING_FEAT_EXT_ARG) in this kernel; Linux 5.11 has it");
  }
  std::fill_n(ring_.sq.sqes, ring_.sq.ring_entries * (mode.wide ? 2 : 1), io_uring_sqe{});
  // Saves the kernel a descriptor look-up per call (5.18); it changes nothing else, so a kernel
  // without it is fine.
  if (::io_uring_register_ring_fd(&ring_) == 1) enter_flags_ = IORING_ENTER_REGISTERED_RING;
  return {};
}

Result<void> Uring::RegisterFile(int fd) {
  const int error = ::io_uring_register_files(&ring_, &fd, 1);
  if (error < 0) return FailErrno(-error, "io_uring: register the file");
  return {};
}

Result<void> Uring::RegisterBuffers(std::span<std::byte> buffers, size_t stride) {
  slots_per_buffer_ = static_cast<uint32_t>(std::max<size_t>(kRegisteredBufferMost / stride, 1));
  const size_t most = slots_per_buffer_ * stride;
  std::vector<iovec> vectors;
  for (size_t at = 0; at < buffers.size(); at += most) {
    vectors.push_back({buffers.data() + at, std::min(most, buffers.size() - at)});
  }
  const int error =
      ::io_uring_register_buffers(&ring_, vectors.data(), static_cast<unsigned>(vectors.size()));
  if (error == 0) return {};
  if (error != -ENOMEM && error != -EPERM) return FailErrno(-error, "io_uring: register buffers");
  rlimit limit = {};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return Fail({ErrorKind::kUnmet, -error,
               "io_uring: registering the buffers of " + std::to_string(buffers.size() / stride) +
                   " I/Os needs at least " + std::to_string(buffers.size() / 1024) +
                   " KiB of locked memory, RLIMIT_MEMLOCK is " +
                   std::to_string(limit.rlim_cur / 1024) +
                   " KiB (raise it, or set fixed_buffers = false)"});
}

int Uring::TakeBack(uint32_t count, int taken) {
  if (taken == -EINTR) return Submit<UringMode{}>(count);
  if (taken > 0) tail_ += static_cast<uint32_t>(taken);
  std::atomic_ref(*ring_.sq.ktail).store(tail_, std::memory_order_relaxed);
  // EAGAIN: no memory for a request. EBUSY: completions have to be reaped first
  // (io_uring_enter(2)). EINTR: nothing was taken, and may be offered again.
  return taken == -EAGAIN || taken == -EBUSY || taken == -EINTR ? 0 : taken;
}

// The kernel's thread looks at the tail once more after it has asked to be woken, so the order of
// our store and our look at its flags matters (io_uring(7)). Once enqueued nothing can be refused,
// so a wake-up that fails is left to the drain.
int Uring::Enqueued(uint32_t count) {
  tail_ += count;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const unsigned flags = std::atomic_ref(*ring_.sq.kflags).load(std::memory_order_relaxed);
  if ((flags & IORING_SQ_NEED_WAKEUP) != 0) {
    ::io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), 0, 0,
                      enter_flags_ | IORING_ENTER_SQ_WAKEUP, nullptr, _NSIG / 8);
  }
  return static_cast<int>(count);
}

int Uring::Wait(uint32_t min, int64_t timeout_ns) {
  const timespec relative = TimespecOf(std::max<int64_t>(timeout_ns, 0));
  const __kernel_timespec ts = {relative.tv_sec, relative.tv_nsec};
  io_uring_getevents_arg argument = {};
  argument.sigmask_sz = _NSIG / 8;
  if (timeout_ns > 0) argument.ts = reinterpret_cast<uintptr_t>(&ts);
  // timeout 0: enter nevertheless, with nothing to wait for, so that deferred completions appear.
  const int error =
      ::io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), 0, timeout_ns == 0 ? 0 : min,
                        enter_flags_ | IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                        reinterpret_cast<sigset_t*>(&argument), sizeof argument);
  return error == -ETIME || error == -EINTR ? 0 : std::min(error, 0);
}

template <UringMode kMode>
int Uring::WaitAndTake(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) {
  // With nothing to poll for the kernel returns at once, whatever the timeout.
  if (kMode.polled && tail_ == head_) {
    if (timeout_ns > 0) SleepFor(timeout_ns);
    return 0;
  }
  if (const int error = Wait(min, timeout_ns); error < 0) return error;
  return Take<kMode>(out, Ready());
}

#define BLKFAIR_INSTANTIATE(sqpoll, polled, wide)                   \
  template int Uring::WaitAndTake<UringMode{sqpoll, polled, wide}>( \
      std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns);
BLKFAIR_INSTANTIATE(false, false, false)
BLKFAIR_INSTANTIATE(false, true, false)
BLKFAIR_INSTANTIATE(true, false, false)
BLKFAIR_INSTANTIATE(true, true, false)
BLKFAIR_INSTANTIATE(false, false, true)
BLKFAIR_INSTANTIATE(false, true, true)
BLKFAIR_INSTANTIATE(true, false, true)
BLKFAIR_INSTANTIATE(true, true, true)
#undef BLKFAIR_INSTANTIATE

Result<void> ProbeUring(std::string_view engine, const UringMode& mode) {
  io_uring ring = {};
  const int error = SetUp(1, mode, &ring);
  if (error < 0) return SetUpFailed(-error, "engine " + std::string(engine));
  ::io_uring_queue_exit(&ring);
  return {};
}

}  // namespace blkfair
