// What a phase needs of this machine beyond its queues, found out before any of its jobs starts: a
// job that is missing would make the others look well treated. Stateless; the orchestrator's
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/kernel_fs.h"
#include "base/result.h"
#include "harness/run/job_setup.h"

namespace blkfair {

// kKernel when the sum of the libaio depths passes fs.aio-max-nr; kUnmet when the buffers to be
// registered need more locked memory than this process may have, or the jobs more open files than
// it may be allowed (the limit is raised where it can be). All with the numbers.
Result<void> CheckLimits(const KernelFs& fs, const std::vector<JobSetup>& jobs);

}  // namespace blkfair
