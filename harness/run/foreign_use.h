// What a scenario does to devices that blkfair did not make, against what it may do. Asked before
// anything is touched: by the command line, and again by the run itself. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scenarios/language/model.h"

namespace blkfair {

// kUsage when a job changes data of such a device without both permissions: destroy_data = true of
// its fixture, and something in `destroy` (which the fixture then compares with the device). kUnmet
// when there are such devices and `executor` is "guest", where they are not.
Result<void> CheckForeignUse(const Scenario& scenario, std::string_view executor,
                             std::span<const std::string> destroy);

}  // namespace blkfair
