// What a Record says of itself must hold together: a record that was edited, cut or mixed up must
// not be judged as if it had been observed. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "results/record.h"

namespace blkfair {

// The first thing that cannot be, as one sentence; absent when the record holds together.
std::optional<std::string> FaultOfRecord(const Record& record);

}  // namespace blkfair
