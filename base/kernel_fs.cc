#include "base/kernel_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/fd.h"

namespace blkfair {

namespace {

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

std::string_view WithoutTrailingSpace(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

KernelRoots KernelRoots::Real() {
  return {
      .sys = "/sys",
      .proc = "/proc",
      .dev = "/dev",
      .configfs = "/sys/kernel/config",
      .debugfs = "/sys/kernel/debug",
      .cgroup = "/sys/fs/cgroup",
      .modules = "/lib/modules",
  };
}

KernelRoots KernelRoots::Under(const std::string& directory) {
  KernelRoots roots = Real();
  for (std::string* root : {&roots.sys, &roots.proc, &roots.dev, &roots.configfs, &roots.debugfs,
                            &roots.cgroup, &roots.modules}) {
    root->insert(0, directory);
  }
  return roots;
}

Result<std::string> KernelFs::Read(const std::string& path) const { return ReadWholeFile(path); }

Result<std::string> KernelFs::ReadLine(const std::string& path) const {
  ASSIGN_OR_RETURN(std::string text, Read(path));
  text.resize(WithoutTrailingSpace(text).size());
  return text;
}

Result<int64_t> KernelFs::ReadInt(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string text, ReadLine(path));
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) {
    return Fail(ErrorKind::kKernel, fmt::format("read {}: '{}' is not a whole number", path, text));
  }
  return value;
}

bool KernelFs::Exists(const std::string& path) const {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

Result<std::vector<std::string>> KernelFs::List(const std::string& path) const {
  const std::unique_ptr<DIR, DirCloser> dir(::opendir(path.c_str()));
  if (dir == nullptr) return FailErrno(errno, fmt::format("list {}", path));
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return FailErrno(errno, fmt::format("list {}", path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> KernelFs::Write(const std::string& path, std::string_view text) {
  const std::string what = fmt::format("write {} to {}", WithoutTrailingSpace(text), path);
  while (true) {
    // Pseudo-files ignore O_TRUNC; the regular files of a test tree need it.
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!fd.valid()) return FailErrno(errno, what);
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n == static_cast<ssize_t>(text.size())) return {};
    // A second write(2) would be a second command to the kernel, so the rest is not sent after it.
    if (n >= 0) {
      return Fail(ErrorKind::kKernel,
                  fmt::format("{}: the kernel took {} of {} bytes", what, n, text.size()));
    }
    if (errno != EINTR) return FailErrno(errno, what);
  }
}

Result<void> KernelFs::MakeDir(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return {};
  return FailErrno(errno, fmt::format("make directory {}", path));
}

Result<void> KernelFs::RemoveDir(const std::string& path) {
  if (::rmdir(path.c_str()) == 0) return {};
  return FailErrno(errno, fmt::format("remove directory {}", path));
}

Result<void> KernelFs::MakeSymlink(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) == 0) return {};
  return FailErrno(errno, fmt::format("link {} to {}", path, target));
}

Result<void> KernelFs::RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return {};
  return FailErrno(errno, fmt::format("remove {}", path));
}

Result<void> KernelFs::Mount(const std::string& type, const std::string& path) {
  if (::mount(type.c_str(), path.c_str(), type.c_str(), MS_NOSUID | MS_NODEV | MS_NOEXEC,
              nullptr) == 0) {
    return {};
  }
  return FailErrno(errno, fmt::format("mount {} on {}", type, path));
}

Result<void> KernelFs::Unmount(const std::string& path) {
  if (::umount(path.c_str()) == 0) return {};
  return FailErrno(errno, fmt::format("unmount {}", path));
}

}  // namespace blkfair
