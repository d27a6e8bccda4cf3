#include "base/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace blkfair {

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode) {
  while (true) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0) return UniqueFd(fd);
    if (errno != EINTR) return FailErrno(errno, fmt::format("open {}", path));
  }
}

Result<std::string> ReadWholeFile(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  std::string text;
  std::array<char, 16384> chunk;
  while (true) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n == 0) return text;
    if (n > 0) {
      text.append(chunk.data(), static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return FailErrno(errno, fmt::format("read {}", path));
    }
  }
}

Result<void> WriteAll(int fd, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return FailErrno(errno, fmt::format("write {}", what));
    }
  }
  return {};
}

Result<void> WriteWholeFile(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  return WriteAll(fd.get(), text, path);
}

}  // namespace blkfair
