// Whether a queue's completions can be polled for (hipri). Any thread.
#pragma once

#include "base/kernel_fs.h"
#include "base/queue.h"
#include "base/result.h"

namespace blkfair {

// kUnmet, with what would help, unless the driver has hardware queues for polling. Kernels before
// 6.12 would take a polled request on any other queue and let an interrupt complete it
// (submit_bio_noacct in block/blk-core.c clears REQ_POLLED).
Result<void> RequirePolledQueue(const KernelFs& fs, const Queue& queue);

}  // namespace blkfair
