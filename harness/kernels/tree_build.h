// Builds a kernel tree where it stands, as its owner configured it, or by a command of the owner's.
#pragma once

#include <string>

#include "base/result.h"
#include "harness/guest/guest.h"
#include "harness/kernels/build_step.h"

namespace blkfair {

// `command` is run by sh in the tree and has to leave arch/x86/boot/bzImage there; empty: make, by
// the tree's .config. kKernel where the tree does not build; kUsage where there is nothing to build
// it by, or a command that succeeded left no kernel image.
Result<Kernel> BuildTree(const std::string& tree, const std::string& command,
                         const BuildWatch& watch);

}  // namespace blkfair
