// NVMe passthrough, as far as an engine needs it: the generic character device of a namespace, what
// the namespace says of itself, and what a status means. Stateless; any thread. Layouts and status
// codes: NVM Express Base Specification 2.0 and NVM Command Set Specification 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "base/queue.h"
#include "base/result.h"

namespace blkfair {

inline constexpr uint8_t kNvmeWrite = 0x01;
inline constexpr uint8_t kNvmeRead = 0x02;
inline constexpr uint8_t kNvmeDatasetManagement = 0x09;
inline constexpr uint32_t kNvmeDeallocate = 1 << 2;  // of its dword 11

// One range of a Dataset Management command.
struct NvmeRange {
  uint32_t attributes;
  uint32_t blocks;
  uint64_t lba;
};
static_assert(sizeof(NvmeRange) == 16);

// A namespace that is open for passthrough.
struct NvmeTarget {
  UniqueFd fd;
  std::string node;  // "/dev/ng0n1", for messages
  uint32_t nsid = 0;
  uint32_t lba_shift = 9;
  uint64_t max_transfer_bytes = 0;  // largest single command; 0 = unknown
};

// The node of the character device that stands for the same namespace as queue.path: "ng0n1" for
// "nvme0n1". kUnmet when the queue is no whole NVMe namespace; kKernel when sysfs does not show
// that both belong to the same device.
Result<std::string> GenericNodeOf(const KernelFs& fs, const Queue& queue);

// Opens it, read-only unless `writes`, and asks the namespace for its id and format. kUnmet when
// this process may not, and for formats with metadata, whose buffers would have to be given too.
Result<NvmeTarget> OpenNvmeTarget(const KernelFs& fs, const Queue& queue, bool writes);

// kUsage when a command cannot carry `bs_bytes`, naming what it goes against.
Result<void> CheckNvmeLength(const NvmeTarget& target, uint32_t bs_bytes);

// The format in use, from the data of Identify Namespace (CNS 0).
inline constexpr size_t kNvmeIdentifyBytes = 4096;
struct NvmeFormat {
  uint32_t lba_shift;
  uint32_t metadata_bytes;  // of each logical block
};
NvmeFormat NvmeFormatOf(std::span<const std::byte, kNvmeIdentifyBytes> identify);

// A passthrough completion's result: 0, -errno, or the status field of the command.
// 0 or -errno.
int ErrnoOfNvmeResult(int result);

}  // namespace blkfair
