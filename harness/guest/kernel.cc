// ResolveKernel: from what the user said to a kernel that can be booted.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/hash.h"
#include "base/kernel_fs.h"
#include "base/user_dirs.h"
#include "harness/guest/built_kernel.h"
#include "harness/guest/cache.h"
#include "harness/guest/debian_kernel.h"
#include "harness/guest/guest.h"
#include "harness/guest/kernel_image.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace fs = std::filesystem;
namespace {

using Say = std::function<void(const std::string&)>;
using Interrupted = std::function<bool()>;

std::string IfExists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) ? path : std::string();
}

Result<Kernel> ResolveDebian(const std::string& asked, const Say& say,
                             const Interrupted& interrupted) {
  const std::string series = asked.substr(asked.find(':') + 1);
  const auto known = DebianSeriesNames();
  if (std::find(known.begin(), known.end(), series) == known.end()) {
    return Fail(ErrorKind::kUsage, fmt::format("there is no kernel {}: the series known are {}",
                                               asked, fmt::join(known, ", ")));
  }
  ASSIGN_OR_RETURN(const std::string folder,
                   DebianKernelFolder(series, CacheDir(), say, interrupted));
  Kernel kernel;
  kernel.asked = asked;
  kernel.modules_root = folder;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/boot", error)) {
    if (entry.path().filename().string().starts_with("vmlinuz-")) kernel.image = entry.path();
  }
  if (kernel.image.empty()) {
    return Fail(ErrorKind::kKernel, fmt::format("find the kernel in {}/boot: remove the folder {} "
                                                "to have it fetched again",
                                                folder, folder));
  }
  ASSIGN_OR_RETURN(const KernelImageFacts facts, ReadKernelImage(kernel.image));
  kernel.release = facts.release;
  kernel.config_file = IfExists(fmt::format("{}/boot/config-{}", folder, facts.release));
  return kernel;
}

Result<Kernel> ResolveHost() {
  utsname name{};
  if (::uname(&name) != 0) return FailErrno(errno, "ask for the running kernel's release");
  Kernel kernel;
  kernel.asked = "host";
  kernel.release = name.release;
  kernel.image = fmt::format("/boot/vmlinuz-{}", kernel.release);
  if (::access(kernel.image.c_str(), R_OK) != 0) {
    return FailErrno(errno, fmt::format("read the running kernel's image {}", kernel.image),
                     ErrorKind::kUnmet);
  }
  RETURN_IF_ERROR(ReadKernelImage(kernel.image));
  const std::string modules = fmt::format("{}/{}", KernelRoots::Real().modules, kernel.release);
  if (IfExists(modules).empty()) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("find the running kernel's modules: there is no {}", modules));
  }
  kernel.modules_root = "/";
  kernel.config_file = IfExists(fmt::format("/boot/config-{}", kernel.release));
  return kernel;
}

// modules.order of a built tree: one module a line, ".ko", or ".o" since 6.2.
Result<std::vector<std::string>> ModulesOf(const std::string& tree) {
  ASSIGN_OR_RETURN(const std::string order, ReadWholeFile(tree + "/modules.order"));
  std::vector<std::string> modules;
  for (size_t at = 0; at < order.size();) {
    const size_t end = std::min(order.find('\n', at), order.size());
    const fs::path name = order.substr(at, end - at);
    if (!name.empty()) modules.push_back(fs::path(name).replace_extension(".ko").string());
    at = end + 1;
  }
  return modules;
}

// lib/modules/RELEASE below `folder`: links to the tree's modules, indexed.
Result<void> LinkModules(const std::string& tree, const std::vector<std::string>& modules,
                         const std::string& folder, const std::string& release,
                         const Interrupted& interrupted) {
  const std::string target = fmt::format("{}/lib/modules/{}", folder, release);
  std::error_code error;
  for (const std::string& module : modules) {
    const fs::path link = fmt::format("{}/kernel/{}", target, module);
    fs::create_directories(link.parent_path(), error);
    fs::create_symlink(fs::path(tree) / module, link, error);
    if (error) return FailErrno(error.value(), fmt::format("link {}", link.string()));
  }
  for (const char* name : {"modules.order", "modules.builtin", "modules.builtin.modinfo"}) {
    const fs::path source = fs::path(tree) / name;
    if (!fs::exists(source, error)) continue;
    fs::copy_file(source, fs::path(target) / name, error);
    if (error) return FailErrno(error.value(), fmt::format("copy {}", source.string()));
  }
  RETURN_IF_ERROR(RunProgram({"depmod", "-b", folder, release},
                             fmt::format("index the modules of {}", tree), interrupted));
  return {};
}

// What the tree's modules were before it was built again.
void RemoveOtherFolders(const fs::path& keep) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(keep.parent_path(), error)) {
    if (entry.is_directory(error) && entry.path() != keep) fs::remove_all(entry.path(), error);
  }
}

// A modules root for a built tree, empty when it has no modules. Its name covers what the modules
// were when it was made, so a rebuilt tree gets another one.
Result<std::string> StageModules(const std::string& tree, const std::string& release,
                                 const Interrupted& interrupted) {
  std::error_code error;
  if (!fs::exists(tree + "/modules.order", error)) return std::string();
  ASSIGN_OR_RETURN(const std::vector<std::string> modules, ModulesOf(tree));
  if (modules.empty()) return std::string();
  uint64_t key = HashOf(release);
  for (const std::string& module : modules) {
    const auto time = fs::last_write_time(tree + "/" + module, error);
    if (error) return FailErrno(error.value(), fmt::format("find the module {}/{}", tree, module));
    key = MixSeed(key, HashOf(module));
    key = MixSeed(key, static_cast<uint64_t>(time.time_since_epoch().count()));
  }
  return CachedFolder(
      CacheDir(), fmt::format("trees/{:016x}/{:016x}", HashOf(tree), key),
      [&](const std::string& folder) {
        RemoveOtherFolders(folder);
        return LinkModules(tree, modules, folder, release, interrupted);
      },
      interrupted);
}

Result<Kernel> ResolveTree(const std::string& asked, const Interrupted& interrupted) {
  std::error_code error;
  const std::string tree = fs::canonical(asked, error).string();
  Kernel kernel;
  kernel.asked = asked;
  kernel.image = tree + "/arch/x86/boot/bzImage";
  if (!fs::exists(kernel.image, error)) {
    return Fail(ErrorKind::kUsage, fmt::format("{} is not a built kernel tree: there is no "
                                               "arch/x86/boot/bzImage in it",
                                               asked));
  }
  ASSIGN_OR_RETURN(const KernelImageFacts facts, ReadKernelImage(kernel.image));
  kernel.release = facts.release;
  kernel.config_file = IfExists(tree + "/.config");
  ASSIGN_OR_RETURN(kernel.modules_root, StageModules(tree, kernel.release, interrupted));
  return kernel;
}

Result<Kernel> ResolveBuilt(const std::string& name, const Interrupted& interrupted) {
  ASSIGN_OR_RETURN(KernelOrigin origin, ReadKernelOrigin(name));
  ASSIGN_OR_RETURN(Kernel kernel, ResolveTree(BuiltKernelFolder(name).objects, interrupted));
  kernel.asked = name;
  kernel.origin = std::move(origin);
  return kernel;
}

}  // namespace

Result<Kernel> ResolveKernel(const std::string& asked, const Say& say,
                             const Interrupted& interrupted) {
  if (asked.starts_with("debian:")) return ResolveDebian(asked, say, interrupted);
  if (asked == "host") return ResolveHost();
  std::error_code error;
  const fs::file_status status = fs::status(asked, error);
  if (IsKernelName(asked) && fs::is_directory(BuiltKernelFolder(asked).path, error)) {
    return ResolveBuilt(asked, interrupted);
  }
  if (fs::is_directory(status)) return ResolveTree(asked, interrupted);
  if (fs::is_regular_file(status)) {
    Kernel kernel;
    kernel.asked = asked;
    kernel.image = fs::absolute(asked, error).string();
    ASSIGN_OR_RETURN(const KernelImageFacts facts, ReadKernelImage(kernel.image));
    kernel.release = facts.release;
    kernel.image_only = true;
    return kernel;
  }
  return Fail(
      ErrorKind::kUsage,
      fmt::format("there is no kernel {}: give debian:{}, host, the name of a kernel that "
                  "blkfair built (blkfair kernel list), a bzImage, or the folder of a built kernel",
                  asked, fmt::join(DebianSeriesNames(), ", debian:")));
}

std::string ExplainUnmet(const Kernel& kernel, const std::string& why) {
  // What has nothing to do with modules is not among them either.
  if (!kernel.image_only || why.find("module") == std::string::npos) return why;
  return fmt::format(
      "the kernel was given as an image without its modules: give the folder that it was built in, "
      "or debian:{}, and they come along; without them, {}",
      fmt::join(DebianSeriesNames(), ", debian:"), why);
}

}  // namespace blkfair
