// Builds a kernel tree as it is: where it stands if its owner configured it, by a command of the
// owner's, or else as `blkfair kernel build` does, out of the tree.
#pragma once

#include <string>

#include "base/result.h"
#include "harness/guest/guest.h"
#include "harness/kernels/build_step.h"

namespace blkfair {

// `command` is run by sh in the tree and has to leave arch/x86/boot/bzImage there; empty: make, by
// the tree's .config or, where it has none, by blkfair's own. kKernel where the tree does not
// build; kUsage where it is no kernel tree, or a command that succeeded left no kernel image.
Result<Kernel> BuildTree(const std::string& tree, const std::string& command,
                         const BuildWatch& watch);

}  // namespace blkfair
