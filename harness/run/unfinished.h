// Unfinished: the ages of the I/Os of one job that are in flight at one moment, the open or the
// close of its window. Takes all memory when it is made; used by the job's thread.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/histogram.h"
#include "base/stamps.h"
#include "results/record.h"

namespace blkfair {

class Unfinished {
 public:
  Unfinished(uint32_t iodepth, std::pmr::memory_resource* memory);

  // One that is in flight at edge_ns, at most iodepth of them. A stamp of issue before that of
  // start is of the slot's I/O before. `due_ns`: of an open loop.
  void Note(int64_t edge_ns, const Stamps& stamps, std::optional<int64_t> due_ns);
  // `overdue`: ages of those that were due and had not been made; may be null.
  UnfinishedRecord ToRecord(const Histogram* overdue) const;

 private:
  std::pmr::vector<int64_t> lat_;
  std::pmr::vector<int64_t> clat_;
  std::pmr::vector<int64_t> response_;
};

}  // namespace blkfair
