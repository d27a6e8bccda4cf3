#include "kmod_setup/requirements.h"

#include <fmt/format.h>
#include <linux/capability.h>

#include <charconv>
#include <sstream>
#include <vector>

namespace blkfair {

namespace {

// The effective capabilities of this process; none when /proc is not readable.
uint64_t EffectiveCapabilities(const KernelFs& fs) {
  const Result<std::string> status = fs.Read(fs.roots().proc + "/self/status");
  if (!status) return 0;
  constexpr std::string_view kKey = "CapEff:\t";
  const size_t at = status->find(kKey);
  if (at == std::string::npos) return 0;
  uint64_t capabilities = 0;
  const char* const begin = status->data() + at + kKey.size();
  std::from_chars(begin, status->data() + status->size(), capabilities, 16);
  return capabilities;
}

bool HasFileSystem(const KernelFs& fs, std::string_view type) {
  const Result<std::string> text = fs.Read(fs.roots().proc + "/filesystems");
  if (!text) return false;
  std::istringstream words(*text);
  std::string word;
  while (words >> word) {
    if (word == type) return true;
  }
  return false;
}

std::string MissingRoot(const KernelFs& fs, ModuleLoader&) {
  if ((EffectiveCapabilities(fs) >> CAP_SYS_ADMIN & 1) != 0) return {};
  return "this process has no CAP_SYS_ADMIN: run as root, or use --on guest";
}

std::string MissingConfigfs(const KernelFs& fs, ModuleLoader& modules) {
  if (HasFileSystem(fs, "configfs") || modules.Available("configfs")) return {};
  return "this kernel has no configfs (CONFIG_CONFIGFS_FS), nor a module of it";
}

std::string MissingDebugfs(const KernelFs& fs, ModuleLoader&) {
  if (HasFileSystem(fs, "debugfs")) return {};
  return "this kernel has no debugfs (CONFIG_DEBUG_FS)";
}

std::string MissingNullBlk(const KernelFs& fs, ModuleLoader& modules) {
  if (GetModuleState(fs, "null_blk") != ModuleState::kAbsent || modules.Available("null_blk")) {
    return {};
  }
  return "this kernel has no null_blk (CONFIG_BLK_DEV_NULL_BLK), nor a module of it";
}

std::string MissingNvme(const KernelFs& fs, ModuleLoader& modules) {
  if (GetModuleState(fs, "nvme") != ModuleState::kAbsent || modules.Available("nvme")) return {};
  return "this kernel has no nvme (CONFIG_BLK_DEV_NVME), nor a module of it";
}

// Built in, it has no parameters and so no folder in /sys/module; its target registers with nvmet,
// whose configfs tree says nothing of transports. nvme_fabrics, which it selects, is there then.
std::string MissingNvmeLoop(const KernelFs& fs, ModuleLoader& modules) {
  if (GetModuleState(fs, "nvme_loop") != ModuleState::kAbsent || modules.Available("nvme-loop")) {
    return {};
  }
  if (fs.Exists(fs.roots().configfs + "/nvmet") && fs.Exists(fs.roots().dev + "/nvme-fabrics")) {
    return {};
  }
  return "this kernel has no nvme-loop (CONFIG_NVME_TARGET_LOOP), nor a module of it; Debian's "
         "have "
         "it from 6.12 on";
}

}  // namespace

constexpr Requirement kRootRequirement = {"root", "to change kernel settings", MissingRoot};
constexpr Requirement kConfigfsRequirement = {"configfs", "to make devices", MissingConfigfs};
constexpr Requirement kDebugfsRequirement = {"debugfs", "to see who holds the tags",
                                             MissingDebugfs};
constexpr Requirement kNullBlkRequirement = {"null_blk", "for the devices", MissingNullBlk};
constexpr Requirement kNvmeRequirement = {"nvme", "for the controller", MissingNvme};
constexpr Requirement kNvmeLoopRequirement = {"nvme-loop", "to connect to its target",
                                              MissingNvmeLoop};

Result<void> CheckRequirements(std::span<const Requirement* const> requirements,
                               std::string_view who, const KernelFs& fs, ModuleLoader& modules) {
  std::string sentences;
  for (const Requirement* const requirement : requirements) {
    const std::string missing = requirement->missing(fs, modules);
    if (missing.empty()) continue;
    if (!sentences.empty()) sentences += "; ";
    sentences +=
        fmt::format("{} needs {} {}: {}", who, requirement->name, requirement->reason, missing);
  }
  if (sentences.empty()) return {};
  return Fail(ErrorKind::kUnmet, std::move(sentences));
}

}  // namespace blkfair
