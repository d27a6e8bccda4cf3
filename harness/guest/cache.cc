#include "harness/guest/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/fd.h"

namespace blkfair {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kLockPoll{20};

Result<void> MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return FailErrno(error.value(), fmt::format("make the folder {}", path));
  return {};
}

}  // namespace

Result<std::string> CachedFolder(const std::string& root, const std::string& name,
                                 const std::function<Result<void>(const std::string&)>& fill,
                                 const std::function<bool()>& interrupted) {
  const fs::path folder = fs::path(root) / name;
  std::error_code error;
  if (fs::is_directory(folder, error)) return folder.string();

  RETURN_IF_ERROR(MakeFolders(folder.parent_path().string()));
  ASSIGN_OR_RETURN(const UniqueFd lock, OpenFile(folder.string() + ".lock", O_RDWR | O_CREAT));
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return FailErrno(errno, fmt::format("lock {}.lock", folder.string()));
    }
    if (interrupted && interrupted()) {
      return Fail(ErrorKind::kInterrupted,
                  fmt::format("wait for another process to fill {}: interrupted", folder.string()));
    }
    std::this_thread::sleep_for(kLockPoll);
  }
  if (fs::is_directory(folder, error)) return folder.string();  // another process was faster

  // Under the lock, what is there was left by a process that died.
  const fs::path partial = folder.string() + ".partial";
  fs::remove_all(partial, error);
  RETURN_IF_ERROR(MakeFolders(partial.string()));
  if (Result<void> filled = fill(partial.string()); !filled) {
    fs::remove_all(partial, error);
    return Fail(std::move(filled.error()));
  }
  fs::rename(partial, folder, error);
  if (error) return FailErrno(error.value(), fmt::format("rename {}", partial.string()));
  return folder.string();
}

}  // namespace blkfair
