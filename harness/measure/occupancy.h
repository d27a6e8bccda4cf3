// Tag occupancy: who holds how many tags of a set, sampled while a phase runs. The meter keeps
// every sample and decides at the end which source to believe (design rule 8: never one counter
// alone). Sample() is called by one thread, between the start barrier and the window's close;
// Finish() afterwards, by the orchestrator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/record.h"

namespace blkfair {

// One reading of one queue. Absent: the source cannot tell.
struct TagReading {
  std::optional<uint32_t> active;         // the kernel's count of tags of this queue (nr_active)
  std::optional<uint32_t> busy;           // requests of this queue that are in flight
  std::optional<uint32_t> waiters;        // threads asleep on the set's wait queues
  std::optional<uint32_t> active_queues;  // users that the set is divided among
  std::optional<uint32_t> wake_batch;
};

class OccupancySource {
 public:
  virtual ~OccupancySource() = default;
  // One reading per metered queue, in their order; all at one time as far as the kernel allows.
  virtual void Read(std::span<TagReading> readings) = 0;
};

struct MeteredQueue {
  std::string name;  // "FIXTURE:INDEX"
  std::string fixture;
  uint32_t demand = 0;      // most I/Os its jobs keep in flight
  uint32_t contenders = 0;  // job clones on it
};

struct MeteredSet {
  std::string fixture;
  bool shared = false;  // false: every queue has usable_tags of its own
  uint32_t usable_tags = 0;
};

class OccupancyMeter {
 public:
  // `source` outlives the meter. Room for `samples_max` samples is taken here.
  OccupancyMeter(std::vector<MeteredQueue> queues, std::vector<MeteredSet> sets,
                 OccupancySource* source, uint32_t samples_max);

  void Sample(int64_t at_ns);

  // Counts only samples in [open_ns, close_ns). `queue_records` are those of the phase, by name.
  void Finish(int64_t open_ns, int64_t close_ns, std::vector<QueueRecord>* queue_records,
              std::vector<TagSetPhaseRecord>* set_records) const;

 private:
  struct Choice {
    bool busy = false;  // believe `busy` rather than `active`
    bool any = false;   // some source answered
    std::string why;
  };
  Choice ChooseSource(const MeteredSet& set, std::span<const size_t> samples) const;
  const TagReading& At(size_t sample, size_t queue) const {
    return readings_[sample * queues_.size() + queue];
  }
  TagSetPhaseRecord FinishSet(const MeteredSet& set, std::span<const size_t> samples,
                              std::vector<QueueRecord>* queue_records) const;
  OccupancyRecord FinishQueue(const MeteredSet& set, size_t queue, const Choice& choice,
                              std::span<const size_t> samples) const;
  uint32_t LimitAt(const MeteredSet& set, size_t sample, size_t queue) const;
  bool ContendedAt(const MeteredSet& set, size_t sample, const Choice& choice) const;

  std::vector<MeteredQueue> queues_;
  std::vector<MeteredSet> sets_;
  OccupancySource* source_;
  size_t samples_max_;
  std::vector<int64_t> at_ns_;
  std::vector<TagReading> readings_;  // sample-major
};

// The share that the kernel's rule (hctx_may_queue, block/blk-mq.h, 6.1 to 7.3) leaves a queue of a
// shared set: ceil(tags / users), at least 4, never more than the set.
uint32_t FairShareLimit(uint32_t usable_tags, uint32_t users);

}  // namespace blkfair
