// What the parameter tables of queue-making fixtures have in common: a `queues` key, and keys that
// hold one value for all queues or one for each.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/params.h"

namespace blkfair {

// FixtureInfo::queue_count of a table with a `queues` key.
uint32_t QueueCount(const ParamValues& params);

// A sentence when a kOneOrList parameter holds neither one value nor one for each queue.
std::optional<std::string> CheckQueueLists(std::span<const ParamSpec> specs,
                                           const ParamValues& params);

}  // namespace blkfair
