// What the CPUs did since boot, as the kernel counts it. Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/kernel_fs.h"

namespace blkfair {

// In ticks of 10 ms, of all CPUs together.
struct CpuTicks {
  uint64_t idle = 0;
  uint64_t all = 0;
};

// Absent where the kernel does not say.
std::optional<CpuTicks> ReadCpuTicks(const KernelFs& fs);

}  // namespace blkfair
