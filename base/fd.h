// UniqueFd: owns one file descriptor. The only place in the tree that closes descriptors.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace blkfair {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC added. The error names the path.
Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode = 0644);

// The whole of a regular or pseudo file as text; errors name the path.
Result<std::string> ReadWholeFile(const std::string& path);

// Creates or truncates `path` and writes all of `text`.
Result<void> WriteWholeFile(const std::string& path, std::string_view text);

// Writes all of `bytes` to `fd`, retrying short writes and EINTR. `what` names the object.
Result<void> WriteAll(int fd, std::string_view bytes, std::string_view what);

}  // namespace blkfair
