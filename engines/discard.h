// Trims: how a job discards blocks unless it asks its engine for more, one ioctl(BLKDISCARD) at a
// time, and what a queue must be like for any kind of trim. The engine belongs to the job's thread.
#pragma once

#include <memory>

#include "base/kernel_fs.h"
#include "base/queue.h"
#include "base/result.h"
#include "engines/engine.h"

namespace blkfair {

// kUnmet when the device does not discard; kUsage when trims of `bs_bytes` are no multiple of what
// it discards at a time: the kernel would leave parts out without a word (__blkdev_issue_discard in
// block/blk-lib.c).
Result<void> RequireDiscards(const KernelFs& fs, const Queue& queue, uint32_t bs_bytes);

// Synchronous, whatever engine the job has beside it.
std::unique_ptr<Engine> MakeDiscardEngine();
inline constexpr IssueRule kDiscardIssue = {
    IssuePoint::kBeforeSubmit, "just before ioctl(BLKDISCARD) is called: slat is absent"};

}  // namespace blkfair
