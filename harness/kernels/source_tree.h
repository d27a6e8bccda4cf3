// Kernel sources that may be changed: a copy of a tree that follows the original, so that a build
// out of it compiles again what really changed and nothing else. Called by one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/kernels/build_step.h"

namespace blkfair {

// Makes `copy` equal to `original` (but for .git at the top). Files of the same size and time of
// change are taken to be equal; a file that differs is written anew and is as young as that, so
// that make sees it. kInterrupted once `interrupted` (may be null) says so.
Result<void> FollowTree(const std::string& original, const std::string& copy,
                        const std::function<bool()>& interrupted);

struct SourceChanges {
  std::vector<std::string> patches;  // patch -p1
  std::vector<std::string> edits;    // shell scripts that are given the tree
};

// "patch: SHA-256 PATH" and "edit: SHA-256 PATH": what a manifest says of them. kUsage for a file
// that cannot be read.
Result<std::vector<std::pair<std::string, std::string>>> DescribeChanges(
    const SourceChanges& changes);

// Patches first, then edits, each in its order. kKernel where one of them does not apply.
Result<void> ApplyChanges(const SourceChanges& changes, const std::string& tree,
                          const BuildWatch& watch);

// "COMMIT", "COMMIT, with changes that are not committed", or empty where it is no git checkout.
std::string CommitOfTree(const std::string& tree);

}  // namespace blkfair
