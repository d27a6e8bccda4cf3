// Debian's kernels, fetched with apt through a configuration of its own: nothing of the system's
// apt state is touched, and any user can do it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blkfair {

// The series that ResolveKernel knows: "6.1", "6.12", "7".
std::vector<std::string_view> DebianSeriesNames();

// Folder with boot/vmlinuz-RELEASE, boot/config-RELEASE and lib/modules/RELEASE (depmod run) of the
// newest kernel of `series`; from the cache below `cache_root` when it is there, without network.
// `interrupted` (may be null) ends the fetch, which then leaves nothing behind.
Result<std::string> DebianKernelFolder(std::string_view series, const std::string& cache_root,
                                       const std::function<void(const std::string&)>& say,
                                       const std::function<bool()>& interrupted);

struct DebianSource {
  std::string tree;     // the source as it was unpacked: not to be changed
  std::string package;  // "linux-source-6.12=6.12.117-1~deb12u1"
};

// The source that Debian's newest kernel of `series` is built from, likewise cached.
Result<DebianSource> DebianSourceFolder(std::string_view series, const std::string& cache_root,
                                        const std::function<void(const std::string&)>& say,
                                        const std::function<bool()>& interrupted);

// Whether a folder of that series' kernel is in the cache.
bool HasDebianKernel(std::string_view series, const std::string& cache_root);
// Frees what the cache has of a series, kernel and source; false when there is nothing.
Result<bool> RemoveDebianKernel(std::string_view series, const std::string& cache_root);

// From `apt-cache madison`: "PACKAGE | VERSION | SOURCE" lines. The package and version, as
// "PACKAGE=VERSION", with the newest version in Debian's order; empty when there is none.
Result<std::string> NewestPackage(std::string_view madison);

}  // namespace blkfair
