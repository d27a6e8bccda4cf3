// The shared libraries of a program of this machine, as its own dynamic loader finds them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace blkfair {

// Whether the file begins like an ELF file.
Result<bool> IsElf(const std::string& path);

// Absolute paths of the libraries that `path` needs, its loader included; empty for a static
// program or a shared object without a loader of its own. Paths may be symbolic links.
Result<std::vector<std::string>> SharedLibrariesOf(const std::string& path);

}  // namespace blkfair
