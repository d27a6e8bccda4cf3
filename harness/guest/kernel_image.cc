#include "harness/guest/kernel_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace blkfair {
namespace {

// Offsets of boot.rst: the magic "HdrS", and a 16-bit pointer to the version text, counted from
// 0x200.
constexpr size_t kMagicAt = 0x202;
constexpr size_t kVersionPointerAt = 0x20e;
constexpr size_t kVersionBase = 0x200;
constexpr size_t kHeadBytes = 0x10000 + kVersionBase;

size_t Byte(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

Result<KernelImageFacts> ParseKernelImage(std::string_view head, const std::string& path) {
  if (head.size() < kVersionPointerAt + 2 || head.substr(kMagicAt, 4) != "HdrS") {
    return Fail(ErrorKind::kUsage, fmt::format("read {}: it is not an x86 kernel image", path));
  }
  const size_t pointer = Byte(head, kVersionPointerAt) | Byte(head, kVersionPointerAt + 1) << 8;
  const size_t start = kVersionBase + pointer;
  const size_t end = head.find('\0', start);
  if (pointer == 0 || end == std::string_view::npos || end == start) {
    return Fail(ErrorKind::kUsage,
                fmt::format("read {}: this kernel image does not tell its version", path));
  }
  KernelImageFacts facts;
  facts.version = head.substr(start, end - start);
  facts.release = facts.version.substr(0, facts.version.find(' '));
  return facts;
}

Result<KernelImageFacts> ReadKernelImage(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  std::string head(kHeadBytes, '\0');
  size_t filled = 0;
  while (filled < head.size()) {
    const ssize_t n = ::read(fd.get(), head.data() + filled, head.size() - filled);
    if (n == 0) break;
    if (n > 0) {
      filled += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      return FailErrno(errno, fmt::format("read {}", path));
    }
  }
  head.resize(filled);
  return ParseKernelImage(head, path);
}

}  // namespace blkfair
