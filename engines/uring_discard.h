// Asynchronous trims of a block device through io_uring. The engine belongs to the job's thread.
#pragma once

#include <memory>

#include "engines/engine.h"

namespace blkfair {

// With the switches of io_uring. Needs Linux 6.12: Open says so where it is missing.
std::unique_ptr<Engine> MakeUringDiscardEngine(const ParamValues& params);

}  // namespace blkfair
