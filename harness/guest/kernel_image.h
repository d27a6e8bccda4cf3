// What an x86 kernel image says about itself in its setup header
// (Documentation/arch/x86/boot.rst). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace blkfair {

struct KernelImageFacts {
  std::string release;  // "6.12.117+deb12-amd64"
  std::string version;  // the whole text: release, builder, "#1 SMP ..."
};

// `head`: the first 64 KiB of the file are enough. kUsage when it is no bzImage.
Result<KernelImageFacts> ParseKernelImage(std::string_view head, const std::string& path);
Result<KernelImageFacts> ReadKernelImage(const std::string& path);

}  // namespace blkfair
