// Kernels that blkfair built, by name: where they are below CacheDir() and what they were built
// from. Written by harness/kernels, read by whoever boots one. Control plane; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace blkfair {

// What a kernel was built from, in the order of the manifest: ("source", "debian:6.12"),
// ("version", ...), ("commit", ...), ("edit", "SHA-256 PATH"), ("config", several lines), ...
using KernelOrigin = std::vector<std::pair<std::string, std::string>>;

// The folder of one kernel. Whole once the manifest is there: that is written last.
struct BuiltKernelFolder {
  explicit BuiltKernelFolder(const std::string& name);

  std::string path;     // below CacheDir(); "safe to delete" holds for it too
  std::string source;   // a copy of the source where it is patched, or comes from a package
  std::string objects;  // make's O=; the image and the .config are in it
  std::string manifest;
  std::string log;
};

// Letters, digits, "." "_" "-", not one of the words that --kernel knows.
bool IsKernelName(std::string_view word);
// Sorted; also those whose build did not come to its end.
std::vector<std::string> BuiltKernelNames();

// kUsage where the kernel was not built to its end.
Result<KernelOrigin> ReadKernelOrigin(const std::string& name);
Result<void> WriteKernelOrigin(const std::string& name, const KernelOrigin& origin);

// As the manifest has it: "key: value", further lines of a value begin with a tab.
std::string OriginToText(const KernelOrigin& origin);
KernelOrigin OriginFromText(std::string_view text);
// The first value of `key`; empty when there is none.
std::string OriginValue(const KernelOrigin& origin, std::string_view key);

}  // namespace blkfair
