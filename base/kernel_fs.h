// KernelFs: every touch of /sys, /proc, configfs, debugfs and cgroup goes through this, below one
// injectable set of roots, so that each fixture can be tested under a temporary directory and with
// its N-th write failing. Pseudo-files are small: reads return the whole text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blkfair {

// Where the kernel's trees are. The literals stand in base/kernel_fs.cc only (a style test looks).
struct KernelRoots {
  std::string sys;
  std::string proc;
  std::string dev;
  std::string configfs;
  std::string debugfs;
  std::string cgroup;
  std::string modules;  // /lib/modules

  static KernelRoots Real();
  static KernelRoots Under(const std::string& directory);
};

class KernelFs {
 public:
  explicit KernelFs(KernelRoots roots) : roots_(std::move(roots)) {}
  virtual ~KernelFs() = default;
  KernelFs(const KernelFs&) = delete;
  KernelFs& operator=(const KernelFs&) = delete;

  const KernelRoots& roots() const { return roots_; }

  virtual Result<std::string> Read(const std::string& path) const;
  // Read, without trailing white space.
  Result<std::string> ReadLine(const std::string& path) const;
  Result<int64_t> ReadInt(const std::string& path) const;
  bool Exists(const std::string& path) const;
  // Names in a directory, sorted; "." and ".." left out.
  Result<std::vector<std::string>> List(const std::string& path) const;

  // One write(2) of the whole text to an existing file.
  virtual Result<void> Write(const std::string& path, std::string_view text);
  virtual Result<void> MakeDir(const std::string& path);
  virtual Result<void> RemoveDir(const std::string& path);
  virtual Result<void> MakeSymlink(const std::string& target, const std::string& path);
  virtual Result<void> RemoveFile(const std::string& path);
  // Mounts a pseudo file system ("configfs", "debugfs") on an existing directory.
  virtual Result<void> Mount(const std::string& type, const std::string& path);
  virtual Result<void> Unmount(const std::string& path);

 private:
  KernelRoots roots_;
};

}  // namespace blkfair
