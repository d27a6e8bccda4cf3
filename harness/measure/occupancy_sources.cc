#include "harness/measure/occupancy_sources.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace blkfair {

DebugfsOccupancy::DebugfsOccupancy(const KernelFs& fs, std::span<const Queue> queues) {
  for (const Queue& queue : queues) {
    auto sampler = TagSampler::Open(fs, queue.disk);
    order_.push_back(samplers_.size());
    samplers_.push_back(sampler ? std::optional(std::move(*sampler)) : std::nullopt);
  }
}

void DebugfsOccupancy::Read(std::span<TagReading> readings) {
  CHECK(readings.size() == samplers_.size());
  for (const size_t i : order_) {
    readings[i] = {};
    if (!samplers_[i]) continue;
    const auto sample = samplers_[i]->Sample();
    if (!sample) continue;
    readings[i] = {sample->active, sample->busy_entries, sample->ws_active, sample->active_queues,
                   sample->wake_batch};
  }
  std::ranges::sort(order_, {},
                    [&](size_t i) { return std::pair(readings[i].busy.value_or(0), i); });
}

SimOccupancy::SimOccupancy(std::function<const SimWorld&()> world, std::span<const Queue> queues)
    : world_(std::move(world)) {
  for (const Queue& queue : queues) names_.push_back(queue.Name());
}

void SimOccupancy::Read(std::span<TagReading> readings) {
  CHECK(readings.size() == names_.size());
  const SimWorld& world = world_();
  for (size_t i = 0; i < names_.size(); i++) {
    readings[i] = {};
    const SimQueue* queue = world.FindQueue(names_[i]);
    if (queue == nullptr) continue;
    readings[i].active = queue->tags_held();
    readings[i].waiters = queue->waiters();
    readings[i].active_queues = queue->tags().active_users();
  }
}

}  // namespace blkfair
