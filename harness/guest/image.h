// The guest's initramfs: a reproducible newc archive of the init executable with its libraries, the
// modules asked for, and whatever texts and files the caller adds. Equal inputs give equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace blkfair {

struct ImageFile {
  std::string host_path;
  std::string guest_path;  // absolute; ELF programs bring their libraries along
};

struct ImageSpec {
  std::string init_executable;  // becomes /init
  std::string modules_root;     // of the kernel; empty: no modules
  std::string release;
  std::vector<std::string> modules;  // by name; built-in and absent ones need no file
  std::vector<std::pair<std::string, std::string>> texts;  // guest path, content
  std::vector<ImageFile> files;
};

// Writes the archive to `image_path`, with temporary files in the existing folder `scratch`.
Result<void> BuildImage(const ImageSpec& spec, const std::string& scratch,
                        const std::string& image_path);

}  // namespace blkfair
