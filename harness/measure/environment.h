// What the machine under the run is: kernel, CPUs, memory, clock source. Read once, before the
// first phase.
#pragma once

#include "base/kernel_fs.h"
#include "results/record.h"

namespace blkfair {

// Fills the kernel_*, cpus, memory_bytes, cpu_model and clocksource fields; what cannot be read
// stays empty.
void ReadEnvironment(const KernelFs& fs, EnvironmentRecord* environment);

}  // namespace blkfair
