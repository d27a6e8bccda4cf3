// Counts what the calling thread allocates with operator new; linked into the conformance tests.
#pragma once

#include <cstdint>

namespace blkfair {
uint64_t AllocationsOfThisThread();
}  // namespace blkfair
