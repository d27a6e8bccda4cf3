// What has to be installed to build a kernel. Called by one thread.
#pragma once

#include <string>

#include "base/result.h"
#include "harness/kernels/source_tree.h"

namespace blkfair {

// kUnmet naming all that is missing, and Debian's packages of it.
Result<void> RequireBuildTools(bool unpacks, const SourceChanges& changes);

// "gcc (Debian 12.2.0-14) 12.2.0": what make compiles with.
Result<std::string> CompilerVersion();

}  // namespace blkfair
