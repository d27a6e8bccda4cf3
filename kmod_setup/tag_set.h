// Tag sets as the kernel shows them: parsers of the debugfs and sysfs texts of blk-mq, and readers
// on top. Two kinds of readers: functions that go through KernelFs, for set-up and settling, and
// TagSampler, which keeps its files open and takes no memory per sample, for the sampler's thread.
// The texts were seen on 6.1, 6.12 and 7.3 (block/blk-mq-debugfs.c, lib/sbitmap.c).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "base/result.h"

namespace blkfair {

// hctxN/tags. The bitmap's fields are those of the normal tags; reserved tags have one of their
// own.
struct HctxTags {
  uint32_t nr_tags = 0;  // reserved ones included
  uint32_t nr_reserved_tags = 0;
  // Users among which the tags are divided. Absent where a patched kernel no longer counts them.
  std::optional<uint32_t> active_queues;
  uint32_t depth = 0;    // usable now: smaller than nr_tags after a write to nr_requests
  uint32_t busy = 0;     // taken, by whatever queue
  uint32_t cleared = 0;  // freed, but not yet given back to the bitmap
  uint32_t wake_batch = 0;
  uint32_t ws_active = 0;  // wait queues (of 8) that somebody sleeps in
  bool operator==(const HctxTags&) const = default;
};

Result<HctxTags> ParseHctxTags(std::string_view text);

// hctxN/active, tags that this hctx holds. Counted only while the set is shared; 0 elsewhere.
Result<uint32_t> ParseHctxActive(std::string_view text);

// hctxN/busy: one line per request that the driver has.
uint32_t CountBusyEntries(std::string_view text);

// hctxN/flags
struct HctxFlags {
  bool tag_queue_shared = false;  // several queues share these tags
  bool tag_hctx_shared = false;   // one set for all hardware queues (host-wide tags)
  bool blocking = false;
  bool operator==(const HctxFlags&) const = default;
};
HctxFlags ParseHctxFlags(std::string_view text);

// hctxN/state
struct HctxState {
  bool stopped = false;
  bool tag_active = false;  // counted in active_queues
  bool sched_restart = false;
  bool operator==(const HctxState&) const = default;
};
HctxState ParseHctxState(std::string_view text);

// /sys/block/DISK/mq/N
struct MqHctx {
  uint32_t nr_tags = 0;
  uint32_t nr_reserved_tags = 0;
};

// The hardware queues of a disk, in order, from sysfs.
Result<std::vector<MqHctx>> ReadMqHctxs(const KernelFs& fs, const std::string& disk);

// "hctx0", "hctx1", ... of a disk in debugfs, in numerical order. An error when debugfs is not
// readable or the disk is not based on requests.
Result<std::vector<std::string>> ListHctxs(const KernelFs& fs, const std::string& disk);

Result<HctxTags> ReadHctxTags(const KernelFs& fs, const std::string& disk, uint32_t hctx);
Result<HctxFlags> ReadHctxFlags(const KernelFs& fs, const std::string& disk, uint32_t hctx);
Result<HctxState> ReadHctxState(const KernelFs& fs, const std::string& disk, uint32_t hctx);

// The users of the tags that a disk draws from: the largest active_queues of its hctxs. What
// settling waits for. Absent where the kernel does not count them.
Result<std::optional<uint32_t>> ReadActiveQueues(const KernelFs& fs, const std::string& disk);

// What one queue and its tags looked like at one moment, summed over the hardware queues. The files
// are read one after the other: the kernel offers no common snapshot.
struct TagSample {
  std::optional<uint32_t> active;  // absent where the kernel has no such file
  uint32_t busy_entries = 0;
  std::optional<uint32_t> active_queues;  // the largest of any hctx; absent likewise
  uint32_t tags_busy = 0;                 // taken by all queues of the set
  uint32_t usable_tags = 0;               // depth of the bitmaps
  uint32_t wake_batch = 0;                // the smallest of any hctx
  uint32_t ws_active = 0;
};

// Samples one disk over and over. Owned and used by one thread. Close it before the fixture is torn
// down: the open files refer to the disk's debugfs entries.
class TagSampler {
 public:
  static Result<TagSampler> Open(const KernelFs& fs, const std::string& disk);

  Result<TagSample> Sample();

 private:
  struct HctxFiles {
    UniqueFd tags;
    UniqueFd active;  // may be absent
    UniqueFd busy;
  };

  // The whole text of a pseudo-file, in buffer_; valid until the next call.
  Result<std::string_view> ReadFromStart(const UniqueFd& fd);

  std::string disk_;
  std::vector<HctxFiles> hctxs_;
  std::vector<char> buffer_;
  bool host_wide_ = false;  // all hctxs show the same tags
};

}  // namespace blkfair
