// Whether a kernel that has just booted still works off what it put aside at boot. Debian's 6.12
// checks every function that can be traced against its symbols then (ftrace_check_work_func), for
// five seconds of an emulated CPU that the jobs would have to share: a light job alone lost 15 % of
// its IOPS to it. Called by one thread, before anything is set up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/kernel_fs.h"

namespace blkfair {

struct BootWork {
  int64_t waited_ns = 0;
  bool ended = false;  // else the machine was still busy when the limit was over
};

// Waits until the machine's CPUs were idle for 95 % of half a second, by /proc/stat, at most
// `limit_ns`. Nothing where there is no /proc/stat.
std::optional<BootWork> WaitForBootWork(const KernelFs& fs, int64_t limit_ns,
                                        const std::function<void(int64_t ns)>& sleep);

}  // namespace blkfair
