#include "engines/nvme_passthrough.h"

#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace blkfair {

namespace {

constexpr uint8_t kIdentify = 0x06;  // admin command
constexpr int64_t kPageBytes = 4096;
constexpr std::string_view kBlockPrefix = "nvme";

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Takes digits off the front; whether there were any.
bool TakeDigits(std::string_view* text) {
  const auto end = std::find_if_not(text->begin(), text->end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  const auto digits = static_cast<size_t>(end - text->begin());
  text->remove_prefix(digits);
  return digits > 0;
}

// "nvme0n1", and not "nvme0n1p1" nor "nvme0c0n1".
bool IsNamespaceName(std::string_view name) {
  if (!name.starts_with(kBlockPrefix)) return false;
  name.remove_prefix(kBlockPrefix.size());
  if (!TakeDigits(&name) || !name.starts_with('n')) return false;
  name.remove_prefix(1);
  return TakeDigits(&name) && name.empty();
}

std::string Canonical(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path, failed);
  return failed ? std::string() : real.string();
}

bool MayNot(int os_errno) { return os_errno == EACCES || os_errno == EPERM; }

tl::unexpected<Error> NotAllowed(const std::string& what, int os_errno) {
  return Fail({ErrorKind::kUnmet, os_errno,
               what + ": " + std::strerror(os_errno) +
                   " (NVMe passthrough needs root, or, from Linux 6.2, rights on that node)"});
}

Result<NvmeFormat> IdentifyNamespace(int fd, const std::string& node, uint32_t nsid) {
  std::array<std::byte, kNvmeIdentifyBytes> data = {};
  nvme_admin_cmd command = {};
  command.opcode = kIdentify;
  command.nsid = nsid;
  command.addr = reinterpret_cast<uintptr_t>(data.data());
  command.data_len = data.size();
  const std::string what = "identify the namespace of " + node;
  const int status = ::ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command);
  if (status < 0) return MayNot(errno) ? NotAllowed(what, errno) : FailErrno(errno, what);
  if (status > 0) return FailErrno(-ErrnoOfNvmeResult(status), what);
  return NvmeFormatOf(data);
}

}  // namespace

Result<std::string> GenericNodeOf(const KernelFs& fs, const Queue& queue) {
  const std::string name = BaseName(queue.path);
  if (!IsNamespaceName(name)) {
    return Fail(ErrorKind::kUnmet, "engine io_uring_cmd needs a whole NVMe namespace, which " +
                                       queue.path + " is not");
  }
  const std::string generic = "ng" + name.substr(kBlockPrefix.size());
  const std::string& sys = fs.roots().sys;
  const std::string of_block = Canonical(sys + "/class/block/" + name + "/device");
  const std::string of_generic = Canonical(sys + "/class/nvme-generic/" + generic + "/device");
  if (of_generic.empty()) {
    return Fail(ErrorKind::kKernel, "engine io_uring_cmd: " + queue.path +
                                        " has no generic character device " + generic +
                                        " (Linux 5.13 has them; not every multipath head does)");
  }
  if (of_block != of_generic) {
    return Fail(ErrorKind::kKernel, "engine io_uring_cmd: sysfs does not show " + generic +
                                        " as the same namespace as " + queue.path + ": they are " +
                                        "of " + of_generic + " and " + of_block);
  }
  return fs.roots().dev + "/" + generic;
}

Result<NvmeTarget> OpenNvmeTarget(const KernelFs& fs, const Queue& queue, bool writes) {
  NvmeTarget target;
  ASSIGN_OR_RETURN(target.node, GenericNodeOf(fs, queue));
  Result<UniqueFd> fd = OpenFile(target.node, writes ? O_RDWR : O_RDONLY);
  if (!fd && MayNot(fd.error().os_errno)) {
    return NotAllowed("open " + target.node, fd.error().os_errno);
  }
  if (!fd) return Fail(std::move(fd.error()));
  target.fd = std::move(*fd);
  const int nsid = ::ioctl(target.fd.get(), NVME_IOCTL_ID);
  if (nsid <= 0) return FailErrno(errno, "ask " + target.node + " for its namespace id");
  target.nsid = static_cast<uint32_t>(nsid);
  if (queue.nsid != 0 && queue.nsid != target.nsid) {
    return Fail(ErrorKind::kKernel, target.node + " is namespace " + std::to_string(target.nsid) +
                                        ", and " + queue.path + " is namespace " +
                                        std::to_string(queue.nsid));
  }
  ASSIGN_OR_RETURN(const NvmeFormat format,
                   IdentifyNamespace(target.fd.get(), target.node, target.nsid));
  if (format.metadata_bytes > 0) {
    return Fail(ErrorKind::kUnmet, "engine io_uring_cmd: " + target.node + " is formatted with " +
                                       std::to_string(format.metadata_bytes) +
                                       " B of metadata for each block, which is not supported");
  }
  target.lba_shift = format.lba_shift;
  // The kernel's limits for passthrough: the first takes MDTS into account; each page of a
  // registered buffer is a segment (blk_rq_map_user_bvec in block/blk-map.c of 6.1).
  const std::string limits = fs.roots().sys + "/block/" + queue.disk + "/queue/";
  ASSIGN_OR_RETURN(const int64_t max_kib, fs.ReadInt(limits + "max_hw_sectors_kb"));
  ASSIGN_OR_RETURN(const int64_t max_segments, fs.ReadInt(limits + "max_segments"));
  target.max_transfer_bytes =
      static_cast<uint64_t>(std::min(max_kib * 1024, max_segments * kPageBytes));
  return target;
}

Result<void> CheckNvmeLength(const NvmeTarget& target, uint32_t bs_bytes) {
  const uint32_t lba_bytes = uint32_t{1} << target.lba_shift;
  const std::string bs = "bs = " + std::to_string(bs_bytes) + " B";
  if (bs_bytes == 0 || bs_bytes % lba_bytes != 0) {
    return Fail(ErrorKind::kUsage, bs + " is not a multiple of the logical block of " +
                                       target.node + ", " + std::to_string(lba_bytes) + " B");
  }
  if (target.max_transfer_bytes != 0 && bs_bytes > target.max_transfer_bytes) {
    return Fail(
        ErrorKind::kUsage,
        bs + " is more than one command to " + target.node + " can carry, " +
            std::to_string(target.max_transfer_bytes) +
            " B (max_hw_sectors_kb, max_segments): passthrough does not split, so lower bs");
  }
  return {};
}

// FLBAS is byte 26, whose bits 0 to 3 and 5 to 6 index the formats (LBAF) from byte 128 on, four
// bytes each: metadata size (16 bits), data size as a power of two (8 bits).
NvmeFormat NvmeFormatOf(std::span<const std::byte, kNvmeIdentifyBytes> identify) {
  const auto byte = [&](size_t at) { return std::to_integer<uint32_t>(identify[at]); };
  const uint32_t flbas = byte(26);
  const size_t lbaf = 128 + 4 * ((flbas & 0xf) | (flbas & 0x60) >> 1);
  return {.lba_shift = byte(lbaf + 2), .metadata_bytes = byte(lbaf) | byte(lbaf + 1) << 8};
}

int ErrnoOfNvmeResult(int result) {
  if (result <= 0) return result;
  // Status code type (bits 8 to 10) and status code (0 to 7); the rest says whether to retry.
  switch (result & 0x7ff) {
    case 0x001:  // invalid opcode
      return -EOPNOTSUPP;
    case 0x002:  // invalid field
      return -EINVAL;
    case 0x080:  // LBA out of range
    case 0x081:  // capacity exceeded
      return -ENOSPC;
    case 0x182:  // attempted write to a read-only range
      return -EROFS;
    default:
      return -EIO;
  }
}

}  // namespace blkfair
