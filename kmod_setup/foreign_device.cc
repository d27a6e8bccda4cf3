#include "kmod_setup/foreign_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <sstream>

namespace blkfair {

namespace {

constexpr int kHoldersDeep = 16;  // a stack of devices is never so high

std::string ClassDir(const KernelFs& fs, const std::string& name) {
  return fmt::format("{}/class/block/{}", fs.roots().sys, name);
}

std::string DeviceNumber(const KernelFs& fs, const std::string& name) {
  return fs.ReadLine(ClassDir(fs, name) + "/dev").value_or("");
}

// A path of /proc/self/mountinfo or /proc/swaps, where blanks and the like are octal escapes.
std::string Unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3') {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string Canonical(const std::string& path) {
  std::array<char, PATH_MAX> resolved;
  return ::realpath(path.c_str(), resolved.data()) == nullptr ? path : std::string(resolved.data());
}

// Where a device is mounted. By its number; btrfs, whose mounts have numbers of their own, by its
// node.
std::optional<std::string> MountedOn(const KernelFs& fs, const std::string& name) {
  const std::string number = DeviceNumber(fs, name);
  const std::string node = fs.roots().dev + "/" + name;
  std::istringstream lines(fs.Read(fs.roots().proc + "/self/mountinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
    std::istringstream fields(line);
    std::string id, parent, device, root, target, word, type, source;
    fields >> id >> parent >> device >> root >> target;
    while (fields >> word && word != "-") {
    }
    fields >> type >> source;
    const bool same = (!number.empty() && device == number) ||
                      (source.starts_with('/') && Canonical(Unescaped(source)) == node);
    if (same) return Unescaped(target);
  }
  return std::nullopt;
}

bool IsSwap(const KernelFs& fs, const std::string& path) {
  std::istringstream lines(fs.Read(fs.roots().proc + "/swaps").value_or(""));
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    const std::string area = Unescaped(line.substr(0, line.find_first_of(" \t")));
    if (area == path || Canonical(area) == path) return true;
  }
  return false;
}

// The loop device that is made of `path`, if any: it holds neither a file nor a device for itself.
std::optional<std::string> LoopOver(const KernelFs& fs, const std::string& path) {
  for (const std::string& disk :
       fs.List(fs.roots().sys + "/class/block").value_or(std::vector<std::string>())) {
    const auto behind = fs.ReadLine(ClassDir(fs, disk) + "/loop/backing_file");
    if (behind && *behind == path) return disk;
  }
  return std::nullopt;
}

// `label` says what `name` is to the device that was asked for: "it", "its partition vda1".
std::optional<std::string> Why(const KernelFs& fs, const std::string& name,
                               const std::string& label, int deep) {
  if (const auto where = MountedOn(fs, name)) {
    return fmt::format("{} is mounted on {}", label, *where);
  }
  if (IsSwap(fs, fs.roots().dev + "/" + name)) return fmt::format("{} is a swap area", label);
  if (const auto loop = LoopOver(fs, fs.roots().dev + "/" + name)) {
    return fmt::format("{} is what {} is made of", label, *loop);
  }
  const auto holders =
      fs.List(ClassDir(fs, name) + "/holders").value_or(std::vector<std::string>());
  if (!holders.empty()) {
    // Say what is at the top, if it is more than a device that nobody uses.
    const auto above =
        deep == 0 ? std::nullopt : Why(fs, holders[0], "its holder " + holders[0], deep - 1);
    return above ? above : fmt::format("{} is held by {}", label, holders[0]);
  }
  for (const std::string& entry :
       fs.List(ClassDir(fs, name)).value_or(std::vector<std::string>())) {
    if (!fs.Exists(fmt::format("{}/{}/partition", ClassDir(fs, name), entry))) continue;
    if (auto why = Why(fs, entry, "its partition " + entry, deep)) return why;
  }
  return std::nullopt;
}

tl::unexpected<Error> Refused(std::string_view who, const std::string& asked,
                              std::string_view why) {
  return Fail(ErrorKind::kUsage, fmt::format("{} may not use {}: {}", who, asked, why));
}

std::string SerialOf(const KernelFs& fs, const std::string& name) {
  // virtio_blk shows it at the disk; NVMe and SCSI at the device behind it.
  for (const char* attribute : {"serial", "device/serial"}) {
    const auto serial = fs.ReadLine(fmt::format("{}/{}", ClassDir(fs, name), attribute));
    if (serial && !serial->empty()) return *serial;
  }
  return {};
}

Result<void> ClaimBlock(const KernelFs& fs, std::string_view who, dev_t number,
                        ForeignDevice* device) {
  const std::string link =
      fmt::format("{}/dev/block/{}:{}", fs.roots().sys, major(number), minor(number));
  const std::string dir = Canonical(link);
  device->name = dir.substr(dir.rfind('/') + 1);
  if (const auto why = WhyInUse(fs, device->name)) return Refused(who, device->asked, *why);
  Result<UniqueFd> claim = OpenFile(device->path, O_RDONLY | O_EXCL);
  if (!claim) {
    if (claim.error().os_errno != EBUSY) return Fail(std::move(claim.error()));
    return Refused(who, device->asked,
                   "somebody else has it, or one of its partitions, for themselves");
  }
  device->claim = std::move(*claim);
  device->serial = SerialOf(fs, device->name);
  ASSIGN_OR_RETURN(const int64_t sectors, fs.ReadInt(ClassDir(fs, device->name) + "/size"));
  device->size_bytes = static_cast<uint64_t>(sectors) * 512;
  if (device->size_bytes == 0) return Refused(who, device->asked, "it has no room at all");
  return {};
}

}  // namespace

std::optional<std::string> WhyInUse(const KernelFs& fs, const std::string& name) {
  return Why(fs, name, "it", kHoldersDeep);
}

std::optional<std::string> WhyFileInUse(const KernelFs& fs, const std::string& path) {
  if (IsSwap(fs, path)) return "it is a swap area";
  if (const auto loop = LoopOver(fs, path)) return fmt::format("{} is made of it", *loop);
  return std::nullopt;
}

Result<ForeignDevice> ClaimDevice(const KernelFs& fs, std::string_view who,
                                  const std::string& asked) {
  ForeignDevice device;
  device.asked = asked;
  device.path = Canonical(asked);
  struct stat info;
  if (::stat(device.path.c_str(), &info) != 0) {
    if (errno != ENOENT) return FailErrno(errno, fmt::format("look at {}", asked));
    return Refused(who, asked, "there is no such device or file, and blkfair makes none");
  }
  if (S_ISBLK(info.st_mode)) {
    RETURN_IF_ERROR(ClaimBlock(fs, who, info.st_rdev, &device));
    return device;
  }
  if (!S_ISREG(info.st_mode)) {
    return Refused(who, asked, "it is neither a block device nor a regular file");
  }
  if (device.path.starts_with(fs.roots().dev + "/")) {
    return Refused(who, asked, "it is no device but a regular file among them, made by mistake");
  }
  if (const auto why = WhyFileInUse(fs, device.path)) return Refused(who, asked, *why);
  ASSIGN_OR_RETURN(device.claim, OpenFile(device.path, O_RDONLY));
  // A file, by whatever names: two queues on one would be one queue.
  if (::flock(device.claim.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FailErrno(errno, fmt::format("lock {}", asked));
    return Refused(who, asked, "it is a queue already, here or in another run");
  }
  device.size_bytes = static_cast<uint64_t>(info.st_size);
  if (device.size_bytes == 0) return Refused(who, asked, "it is empty");
  return device;
}

Result<void> CheckDestroy(std::string_view who, const ForeignDevice& device,
                          const std::vector<std::string>& destroy) {
  const bool named = std::any_of(destroy.begin(), destroy.end(), [&](const std::string& word) {
    return word == device.asked || word == device.path ||
           (!device.serial.empty() && word == device.serial);
  });
  if (named) return {};
  const std::string serial =
      device.serial.empty() ? "" : fmt::format(" or --destroy {}", device.serial);
  return Fail(ErrorKind::kUsage,
              fmt::format("{} may not write to {}: the scenario has destroy_data = true, but the "
                          "command line does not say --destroy {}{}",
                          who, device.asked, device.asked, serial));
}

}  // namespace blkfair
