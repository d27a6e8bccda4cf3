// KernelCounters: the kernel's own counts of what went through each queue of a phase, and of waits
// for tags, read when the window opens and when it closes, so that they can be held against the
// jobs' counts. Read by a thread of the sampler; made before the phase and finished after it by the
// orchestrator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/kernel_fs.h"
#include "base/queue.h"
#include "harness/measure/block_stat.h"
#include "harness/measure/tag_waits.h"
#include "results/record.h"

namespace blkfair {

class KernelCounters {
 public:
  // Both outlive the object.
  KernelCounters(const KernelFs& fs, const TagWaits& waits, std::span<const Queue> queues);

  // `at_ns` counts from the phase's start barrier.
  void ReadAtOpen(int64_t at_ns) { Read(at_ns, &open_); }
  void ReadAtClose(int64_t at_ns) { Read(at_ns, &close_); }

  // Into the queues of that name: what was counted, or why nothing was.
  void Finish(std::vector<QueueRecord>* queues) const;

 private:
  struct Row {
    std::string queue;
    std::string path;    // of its stat file; empty where there is none
    std::string absent;  // why there is none
    bool time_is_tag_time = false;
    std::optional<uint64_t> dev;
  };
  // All rows, one after the other: where many jobs share few CPUs the last may be read long after
  // the first.
  struct Reading {
    std::vector<int64_t> at_ns;
    std::vector<std::optional<BlockStat>> stats;
    std::map<uint64_t, uint64_t> waits;  // by device number
  };
  void Read(int64_t at_ns, Reading* reading);
  void FinishQueue(size_t row, QueueRecord* record) const;

  const KernelFs& fs_;
  const TagWaits& waits_;
  std::vector<Row> rows_;
  Reading open_;
  Reading close_;
};

}  // namespace blkfair
