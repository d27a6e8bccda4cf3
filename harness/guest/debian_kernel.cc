#include "harness/guest/debian_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "base/fd.h"
#include "harness/guest/apt_sources.h"
#include "harness/guest/cache.h"
#include "harness/guest/private_apt.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace fs = std::filesystem;
namespace {

using Say = std::function<void(const std::string&)>;
using Interrupted = std::function<bool()>;

// Where a series is found. The full flavour only: the cloud flavour of 6.12 often fails to boot
// under QEMU 7.2.
struct DebianSeries {
  std::string_view name;
  std::array<std::string_view, 2> suites;  // empty: none
  // Names of the packages that carry the kernel, up to and after the version.
  std::string_view package_prefix;
  std::string_view package_suffix;
  std::string_view source_package;  // ends with "." where what follows moves with the version
};

// Of 7, linux-image-* is empty: linux-binary-* and linux-modules-* carry what it was.
constexpr std::array<DebianSeries, 3> kSeries{{
    {"6.1", {"bookworm", "bookworm-security"}, "linux-image-6.1.", "-amd64", "linux-source-6.1"},
    {"6.12", {"bookworm-backports", ""}, "linux-image-6.12.", "-amd64", "linux-source-6.12"},
    {"7", {"trixie-backports", ""}, "linux-binary-7.", "-amd64", "linux-source-7."},
}};
constexpr std::string_view kBinaryPrefix = "linux-binary-";
constexpr std::string_view kModulesPrefix = "linux-modules-";

const DebianSeries* FindSeries(std::string_view name) {
  const auto found = std::find_if(kSeries.begin(), kSeries.end(),
                                  [&](const DebianSeries& s) { return s.name == name; });
  return found == kSeries.end() ? nullptr : &*found;
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// "linux-image-6.1.0-40-amd64" of "6.1", but not -cloud-amd64, -rt-amd64, -amd64-unsigned, -dbg.
bool IsFullFlavour(const DebianSeries& series, std::string_view package) {
  if (!package.starts_with(series.package_prefix) || !package.ends_with(series.package_suffix)) {
    return false;
  }
  package.remove_suffix(series.package_suffix.size());
  return !package.ends_with("-cloud") && !package.ends_with("-rt");
}

// Debian's order of versions is dpkg's to know.
Result<bool> IsNewer(const std::string& version, const std::string& than) {
  ASSIGN_OR_RETURN(
      ChildProcess dpkg,
      ChildProcess::Spawn({.argv = {"dpkg", "--compare-versions", version, "gt", than}}));
  std::optional<int> status;
  while (!status) status = dpkg.Wait(1000);
  return *status == 0;
}

std::vector<std::string> SuitesOf(const DebianSeries& series) {
  std::vector<std::string> suites;
  for (const std::string_view suite : series.suites) {
    if (!suite.empty()) suites.emplace_back(suite);
  }
  return suites;
}

// The newest of the packages whose names begin with `prefix` and which `wanted` takes.
Result<std::string> ChoosePackage(const DebianSeries& series, std::string_view prefix,
                                  const std::function<bool(const std::string&)>& wanted,
                                  const PrivateApt& apt) {
  ASSIGN_OR_RETURN(const std::string names, apt.Run("apt-cache", {"pkgnames", std::string(prefix)},
                                                    "list the kernel packages"));
  std::vector<std::string> arguments{"madison"};
  for (const std::string& name : Lines(names)) {
    if (wanted(name)) arguments.push_back(name);
  }
  std::string newest;
  if (arguments.size() > 1) {
    std::sort(arguments.begin() + 1, arguments.end());
    ASSIGN_OR_RETURN(const std::string madison,
                     apt.Run("apt-cache", arguments, "list the versions of the kernel packages"));
    ASSIGN_OR_RETURN(newest, NewestPackage(madison));
  }
  if (newest.empty()) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("find a kernel {}: the mirror offers no {}* in {}", series.name, prefix,
                            fmt::join(SuitesOf(series), ", ")));
  }
  return newest;
}

// "linux-source-6.12", "linux-source-7.3"; not "linux-source-6.12-extra" or, of 6.1, 6.12.
bool IsSourceOf(const DebianSeries& series, std::string_view package) {
  if (!series.source_package.ends_with('.')) return package == series.source_package;
  if (!package.starts_with(series.source_package)) return false;
  package.remove_prefix(series.source_package.size());
  return package.find_first_not_of("0123456789") == std::string_view::npos;
}

// Newer packages have the kernel and its config beside the modules.
Result<void> MoveKernelToBoot(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/lib/modules", error)) {
    for (const char* name : {"vmlinuz", "config"}) {
      const fs::path from = entry.path() / name;
      if (!fs::is_regular_file(from, error)) continue;
      fs::create_directories(folder + "/boot", error);
      fs::rename(from, fmt::format("{}/boot/{}-{}", folder, name, entry.path().filename().string()),
                 error);
      if (error) return FailErrno(error.value(), fmt::format("move {}", from.string()));
    }
  }
  return {};
}

// Unpacks all of them into `folder`; keeps boot/ and lib/modules.
Result<void> Unpack(const std::string& debs, const std::string& folder,
                    const Interrupted& interrupted) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(debs, error)) {
    RETURN_IF_ERROR(RunProgram({"dpkg-deb", "-x", entry.path().string(), folder},
                               fmt::format("unpack {}", entry.path().filename().string()),
                               interrupted));
  }
  if (error) return FailErrno(error.value(), fmt::format("read {}", debs));
  if (fs::exists(folder + "/usr/lib/modules", error)) {
    fs::create_directories(folder + "/lib", error);
    fs::rename(folder + "/usr/lib/modules", folder + "/lib/modules", error);
    if (error) return FailErrno(error.value(), "move usr/lib/modules");
  }
  fs::remove_all(folder + "/usr", error);
  return MoveKernelToBoot(folder);
}

Result<void> RunDepmod(const std::string& folder, const Interrupted& interrupted) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/lib/modules", error)) {
    const std::string release = entry.path().filename().string();
    RETURN_IF_ERROR(RunProgram({"depmod", "-b", folder, release},
                               fmt::format("index the modules of {}", release), interrupted));
  }
  if (error) return FailErrno(error.value(), "read the unpacked lib/modules");
  return {};
}

// An apt that sees the suites of `series`, its lists read.
Result<PrivateApt> AptOf(const DebianSeries& series, const std::string& folder, const Say& say,
                         const Interrupted& interrupted) {
  ASSIGN_OR_RETURN(const std::vector<AptSource> installed, ReadInstalledSources("/etc/apt"));
  const std::vector<std::string> suites = SuitesOf(series);
  ASSIGN_OR_RETURN(const std::string sources, DeriveSources(installed, suites));
  ASSIGN_OR_RETURN(PrivateApt apt, PrivateApt::Create(folder, sources, interrupted));
  say(fmt::format("kernel debian:{}: reading the package lists of {}", series.name,
                  fmt::join(suites, ", ")));
  // Without this option apt-get only warns when a mirror cannot be reached, and goes on with
  // nothing.
  RETURN_IF_ERROR(apt.Run("apt-get", {"update", "--error-on=any"}, "read the package lists"));
  return apt;
}

Result<void> Fetch(const DebianSeries& series, const std::string& folder, const Say& say,
                   const Interrupted& interrupted) {
  const std::string apt_folder = folder + "/apt";
  ASSIGN_OR_RETURN(const PrivateApt apt, AptOf(series, apt_folder, say, interrupted));
  const auto wanted = [&](const std::string& name) { return IsFullFlavour(series, name); };
  ASSIGN_OR_RETURN(const std::string package,
                   ChoosePackage(series, series.package_prefix, wanted, apt));
  std::vector<std::string> download{"download", package};
  if (package.starts_with(kBinaryPrefix)) {
    download.push_back(fmt::format("{}{}", kModulesPrefix, package.substr(kBinaryPrefix.size())));
  }
  say(fmt::format("kernel debian:{}: fetching {}", series.name, package));
  RETURN_IF_ERROR(apt.Run("apt-get", download, fmt::format("fetch {}", package)));
  say(fmt::format("kernel debian:{}: unpacking and indexing its modules", series.name));
  RETURN_IF_ERROR(Unpack(apt.download_folder(), folder, interrupted));
  RETURN_IF_ERROR(RunDepmod(folder, interrupted));
  std::error_code error;
  fs::remove_all(apt_folder, error);
  return {};
}

constexpr const char* kSourceTree = "tree";
constexpr const char* kSourcePackage = "package";

// The archive in the package's usr/src, unpacked into `folder`/tree.
Result<void> FetchSource(const DebianSeries& series, const std::string& folder, const Say& say,
                         const Interrupted& interrupted) {
  const std::string apt_folder = folder + "/apt";
  ASSIGN_OR_RETURN(const PrivateApt apt, AptOf(series, apt_folder, say, interrupted));
  const auto wanted = [&](const std::string& name) { return IsSourceOf(series, name); };
  ASSIGN_OR_RETURN(const std::string package,
                   ChoosePackage(series, series.source_package, wanted, apt));
  say(fmt::format("kernel debian:{}: fetching {}", series.name, package));
  RETURN_IF_ERROR(apt.Run("apt-get", {"download", package}, fmt::format("fetch {}", package)));
  say(fmt::format("kernel debian:{}: unpacking its source", series.name));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(apt.download_folder(), error)) {
    RETURN_IF_ERROR(RunProgram({"dpkg-deb", "-x", entry.path().string(), apt_folder + "/unpacked"},
                               fmt::format("unpack {}", package), interrupted));
  }
  const std::string tree = fmt::format("{}/{}", folder, kSourceTree);
  fs::create_directories(tree, error);
  for (const auto& entry : fs::directory_iterator(apt_folder + "/unpacked/usr/src", error)) {
    if (entry.path().filename().string().find(".tar") == std::string::npos) continue;
    RETURN_IF_ERROR(
        RunProgram({"tar", "-C", tree, "--strip-components=1", "-xf", entry.path().string()},
                   fmt::format("unpack {}", entry.path().filename().string()), interrupted));
  }
  if (!fs::exists(tree + "/Makefile", error)) {
    return Fail(ErrorKind::kKernel, fmt::format("there is no kernel source in {}", package));
  }
  fs::remove_all(apt_folder, error);
  return WriteWholeFile(fmt::format("{}/{}", folder, kSourcePackage), package);
}

std::string KernelCacheName(std::string_view series) {
  return fmt::format("kernels/debian-{}", series);
}
std::string SourceCacheName(std::string_view series) {
  return fmt::format("kernels/source-debian-{}", series);
}

}  // namespace

std::vector<std::string_view> DebianSeriesNames() {
  std::vector<std::string_view> names;
  std::transform(kSeries.begin(), kSeries.end(), std::back_inserter(names),
                 [](const DebianSeries& series) { return series.name; });
  return names;
}

Result<std::string> NewestPackage(std::string_view madison) {
  std::string newest_package;
  std::string newest_version;
  for (const std::string& line : Lines(madison)) {
    const size_t bar = line.find('|');
    const size_t second = line.find('|', bar + 1);
    if (bar == std::string::npos || second == std::string::npos) continue;
    const auto word = [](const std::string& text) {
      const size_t first = text.find_first_not_of(' ');
      return first == std::string::npos
                 ? std::string()
                 : text.substr(first, text.find_last_not_of(' ') - first + 1);
    };
    const std::string package = word(line.substr(0, bar));
    const std::string version = word(line.substr(bar + 1, second - bar - 1));
    if (package.empty() || version.empty()) continue;
    if (!newest_version.empty()) {
      ASSIGN_OR_RETURN(const bool newer, IsNewer(version, newest_version));
      if (!newer) continue;
    }
    newest_package = package;
    newest_version = version;
  }
  return newest_package.empty() ? std::string() : newest_package + "=" + newest_version;
}

Result<std::string> DebianKernelFolder(std::string_view series, const std::string& cache_root,
                                       const Say& say, const Interrupted& interrupted) {
  const DebianSeries* known = FindSeries(series);
  CHECK(known != nullptr);
  return CachedFolder(
      cache_root, KernelCacheName(series),
      [&](const std::string& folder) { return Fetch(*known, folder, say, interrupted); },
      interrupted);
}

Result<DebianSource> DebianSourceFolder(std::string_view series, const std::string& cache_root,
                                        const Say& say, const Interrupted& interrupted) {
  const DebianSeries* known = FindSeries(series);
  if (known == nullptr) {
    return Fail(ErrorKind::kUsage, fmt::format("there is no source debian:{}: the series known "
                                               "are {}",
                                               series, fmt::join(DebianSeriesNames(), ", ")));
  }
  ASSIGN_OR_RETURN(const std::string folder, CachedFolder(
                                                 cache_root, SourceCacheName(series),
                                                 [&](const std::string& partial) {
                                                   return FetchSource(*known, partial, say,
                                                                      interrupted);
                                                 },
                                                 interrupted));
  ASSIGN_OR_RETURN(std::string package,
                   ReadWholeFile(fmt::format("{}/{}", folder, kSourcePackage)));
  return DebianSource{fmt::format("{}/{}", folder, kSourceTree), std::move(package)};
}

bool HasDebianKernel(std::string_view series, const std::string& cache_root) {
  std::error_code error;
  return fs::is_directory(fmt::format("{}/{}", cache_root, KernelCacheName(series)), error);
}

Result<bool> RemoveDebianKernel(std::string_view series, const std::string& cache_root) {
  bool removed = false;
  for (const std::string& name : {KernelCacheName(series), SourceCacheName(series)}) {
    std::error_code error;
    const std::string folder = fmt::format("{}/{}", cache_root, name);
    removed |= fs::remove_all(folder, error) > 0;
    if (error) return FailErrno(error.value(), fmt::format("remove {}", folder));
  }
  return removed;
}

}  // namespace blkfair
