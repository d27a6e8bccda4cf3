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
  // Whose turn it is: the emptiest of the last reading first. A long list of busy requests takes
  // the kernel milliseconds on an emulated CPU, in which a light job that shares the CPU cannot
  // submit and would be found idle (0.3 instead of 0.9 tags, 0.0 on another kernel).
  std::vector<size_t> order_;
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
