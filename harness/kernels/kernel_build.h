// `blkfair kernel build`: a small kernel from a tree or from Debian's source package, by make, out
// of tree and incrementally, with a manifest of what it was made from. Called by one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/guest/built_kernel.h"
#include "harness/kernels/build_step.h"
#include "harness/kernels/source_tree.h"

namespace blkfair {

struct KernelBuild {
  std::string name;                    // IsKernelName
  std::string source;                  // "debian:6.12", or a kernel tree
  std::vector<std::string> fragments;  // of .config, over blkfair's own; later lines win
  SourceChanges changes;
};

// What blkfair puts over tinyconfig.
std::string_view OwnConfigFragment();

// Afterwards `name` is a kernel that ResolveKernel knows; what an earlier build of that name left
// is used. One line per step through `say`. kUsage: nothing to build; kUnmet: a tool is missing;
// kKernel: it does not build.
Result<void> BuildKernel(const KernelBuild& build,
                         const std::function<void(const std::string&)>& say,
                         const std::function<bool()>& interrupted,
                         const std::function<void(const std::string&)>& progress);

// The lines of a fragment that the finished config does not have: kconfig leaves out what depends
// on something that is off, or is not known.
std::vector<std::string> LinesNotTaken(std::string_view fragment, std::string_view config);

}  // namespace blkfair
