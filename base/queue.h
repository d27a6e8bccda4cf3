// Queue: one request queue as a job sees it: a block device, a character device, a file, or a
// simulated device. Made by a fixture, read by engines, measurement and the record.
#pragma once

#include <cstdint>
#include <string>

namespace blkfair {

enum class QueueKind : uint8_t { kBlock, kChar, kFile, kSim };

// What the sim executor needs to know of a simulated queue. Queues of one `group` share its tags.
struct SimQueueSpec {
  std::string group;
  std::string policy;      // "fair": like hctx_may_queue; "fcfs": first come, first served
  uint32_t tags = 0;       // of the whole group
  int64_t service_ns = 0;  // mean service time of one request
  double service_cv = 0;   // coefficient of variation of the service time; 0 = constant
  // The device stands still in [stall_at, stall_at + stall_for) of the simulated clock.
  int64_t stall_at_ns = 0;
  int64_t stall_for_ns = 0;
  bool shared = true;  // false: the queue has `tags` of its own
};

struct Queue {
  std::string fixture;  // name of the fixture in the scenario
  uint32_t index = 0;   // position within the fixture
  QueueKind kind = QueueKind::kBlock;
  std::string disk;  // kernel name, "nullb0": the key of sysfs and debugfs
  std::string path;  // "/dev/nullb0": what engines open
  uint64_t size_bytes = 0;
  uint32_t logical_block_bytes = 512;
  uint32_t dma_alignment_bytes = 4;
  uint64_t max_transfer_bytes = 0;  // largest single request; 0 = unknown
  uint32_t nsid = 0;                // NVMe namespace id; 0 elsewhere
  SimQueueSpec sim;                 // kind == kSim only

  // "FIXTURE:INDEX", the name that scenarios and reports use.
  std::string Name() const { return fixture + ":" + std::to_string(index); }
};

}  // namespace blkfair
