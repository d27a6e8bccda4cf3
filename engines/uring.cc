#include "engines/uring.h"

#include <sys/resource.h>
#include <sys/uio.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/kernel_fs.h"
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

int SetUp(uint32_t entries, io_uring* ring) {
  int error = -EINVAL;
  for (const uint32_t flags : kSetupFlags) {
    io_uring_params params = {};
    params.flags = flags;
    error = ::io_uring_queue_init_params(entries, ring, &params);
    if (error != -EINVAL) break;
  }
  return error;
}

// Why io_uring_setup failed, in words a user can act on.
tl::unexpected<Error> SetUpFailed(int os_errno, const std::string& who) {
  if (os_errno == ENOSYS) {
    return Fail({ErrorKind::kUnmet, os_errno,
                 who + ": the kernel has no io_uring (CONFIG_IO_URING), or seccomp hides it"});
  }
  if (os_errno == EPERM) {
    const KernelFs fs(KernelRoots::Real());
    const auto disabled = fs.ReadInt(fs.roots().proc + "/sys/kernel/io_uring_disabled");
    const std::string why =
        disabled && *disabled != 0
            ? "the sysctl kernel.io_uring_disabled is " + std::to_string(*disabled) +
                  " (0 allows it)"
            : std::string("io_uring is forbidden here (seccomp of a container?)");
    return Fail({ErrorKind::kUnmet, os_errno, who + ": " + why});
  }
  return FailErrno(os_errno, who + ": io_uring_setup");
}

}  // namespace

Uring::~Uring() {
  if (open_) ::io_uring_queue_exit(&ring_);
}

Result<void> Uring::Open(uint32_t entries) {
  const int error = SetUp(entries, &ring_);
  if (error < 0) return SetUpFailed(-error, "io_uring");
  open_ = true;
  if ((ring_.features & IORING_FEAT_EXT_ARG) == 0) {
    return Fail(ErrorKind::kUnmet,
                "io_uring: no timed wait (IORING_FEAT_EXT_ARG) in this kernel; Linux 5.11 has it");
  }
  std::fill_n(ring_.sq.sqes, ring_.sq.ring_entries, io_uring_sqe{});
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
  std::vector<iovec> vectors;
  for (size_t at = 0; at < buffers.size(); at += stride) {
    vectors.push_back({buffers.data() + at, stride});
  }
  const int error =
      ::io_uring_register_buffers(&ring_, vectors.data(), static_cast<unsigned>(vectors.size()));
  if (error == 0) return {};
  if (error != -ENOMEM && error != -EPERM) return FailErrno(-error, "io_uring: register buffers");
  rlimit limit = {};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return Fail({ErrorKind::kUnmet, -error,
               "io_uring: registering " + std::to_string(vectors.size()) + " buffers needs " +
                   std::to_string(buffers.size() / 1024) +
                   " KiB of locked memory, RLIMIT_MEMLOCK is " +
                   std::to_string(limit.rlim_cur / 1024) +
                   " KiB (raise it, or set fixed_buffers = false)"});
}

int Uring::TakeBack(uint32_t count, int taken) {
  if (taken == -EINTR) return Submit(count);
  if (taken > 0) tail_ += static_cast<uint32_t>(taken);
  std::atomic_ref(*ring_.sq.ktail).store(tail_, std::memory_order_relaxed);
  // EAGAIN: no memory for a request. EBUSY: completions have to be reaped first
  // (io_uring_enter(2)). EINTR: nothing was taken, and may be offered again.
  return taken == -EAGAIN || taken == -EBUSY || taken == -EINTR ? 0 : taken;
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

int Uring::WaitAndTake(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) {
  if (const int error = Wait(min, timeout_ns); error < 0) return error;
  return Take(out, Ready());
}

Result<void> ProbeUring(std::string_view engine) {
  io_uring ring = {};
  const int error = SetUp(1, &ring);
  if (error < 0) return SetUpFailed(-error, "engine " + std::string(engine));
  ::io_uring_queue_exit(&ring);
  return {};
}

}  // namespace blkfair
