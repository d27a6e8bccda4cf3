// What the kernel itself counts on a disk, in /sys/block/DISK/stat (Documentation/block/stat.rst):
// a parser, and the difference of two readings. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace blkfair {

struct BlockStat {
  struct Counts {
    uint64_t requests = 0;  // completed
    uint64_t merges = 0;
    uint64_t sectors = 0;  // of 512 bytes, whatever the disk's block size
    // Spent in the block layer and the driver by requests that completed, in ms: from when a
    // request exists, so that waiting for a tag does not count (rq->start_time_ns, block/blk-mq.c).
    uint64_t time_ms = 0;
    bool operator==(const Counts&) const = default;
  };
  static constexpr size_t kKinds = 3;  // reads, writes, discards
  std::array<Counts, kKinds> kinds;
  uint32_t in_flight = 0;
};

// Discards are there since 4.18; without them the text is an error.
Result<BlockStat> ParseBlockStat(std::string_view text);

// What was counted from one reading to the next. The counters are unsigned longs (the times
// unsigned ints) of the kernel and wrap at 32 or 64 bits.
uint64_t CounterDelta(uint64_t before, uint64_t after);

}  // namespace blkfair
