// Where tag occupancy is read: debugfs for real queues, the simulated world for simulated ones.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/kernel_fs.h"
#include "base/queue.h"
#include "engines/sim_device.h"
#include "harness/measure/occupancy.h"
#include "kmod_setup/tag_set.h"

namespace blkfair {

// Keeps the debugfs files of its queues open: make it after set-up and drop it before tear-down.
// What cannot be opened or read stays absent in the readings.
class DebugfsOccupancy final : public OccupancySource {
 public:
  DebugfsOccupancy(const KernelFs& fs, std::span<const Queue> queues);
  void Read(std::span<TagReading> readings) override;

 private:
  std::vector<std::optional<TagSampler>> samplers_;  // one per queue
};

class SimOccupancy final : public OccupancySource {
 public:
  // `world` is asked at every reading: a world lives for one phase.
  SimOccupancy(std::function<const SimWorld&()> world, std::span<const Queue> queues);
  void Read(std::span<TagReading> readings) override;

 private:
  std::function<const SimWorld&()> world_;
  std::vector<std::string> names_;
};

}  // namespace blkfair
