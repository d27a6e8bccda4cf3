// Devices and files that blkfair did not make: what keeps it from using them at all, and the claim
// that keeps others from them while it does. Used from the orchestrator's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "base/queue.h"
#include "base/result.h"

namespace blkfair {

// Why a block device must not be touched, as "its partition vda1 is mounted on /boot"; nothing when
// it is free. Looks at the device, its partitions, and all that is built on them: mounts, swap,
// holders (device mapper, RAID). `name` is that of /sys/class/block. Cannot know of programs that
// have it open: claiming finds those that matter.
std::optional<std::string> WhyInUse(const KernelFs& fs, const std::string& name);

// The same for a regular file: swapped on, or behind a loop device. `path` is canonical.
std::optional<std::string> WhyFileInUse(const KernelFs& fs, const std::string& path);

// What `asked` turned out to be, held open. A block device is opened O_EXCL, which the kernel
// grants to one: not to a mount, a swap area, or a holder beside it, of the device or of one of its
// partitions (block/bdev.c, bd_prepare_to_claim). A file is locked (flock(2)), which keeps other
// queues of ours from it. Nothing is ever created, or opened for writing.
struct ForeignDevice {
  std::string asked;
  std::string path;    // canonical
  std::string name;    // of a block device, as in /sys/class/block; empty for a file
  std::string serial;  // where the kernel shows one; may be empty
  uint64_t size_bytes = 0;
  UniqueFd claim;
};

// kUsage with one sentence when it does not exist, is neither a block device nor a regular file, or
// is in use. `who` is "fixture disk".
Result<ForeignDevice> ClaimDevice(const KernelFs& fs, std::string_view who,
                                  const std::string& asked);

// kUsage unless one of `destroy` names the device: by its path as asked for, by its canonical path,
// or by its serial number.
Result<void> CheckDestroy(std::string_view who, const ForeignDevice& device,
                          const std::vector<std::string>& destroy);

}  // namespace blkfair
