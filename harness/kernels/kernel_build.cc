#include "harness/kernels/kernel_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/user_dirs.h"
#include "harness/guest/config_check.h"
#include "harness/guest/debian_kernel.h"
#include "harness/guest/process.h"
#include "harness/kernels/build_tools.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

using Say = std::function<void(const std::string&)>;

constexpr std::string_view kDebian = "debian:";

// What one build knows on its way.
class Builder {
 public:
  Builder(const KernelBuild& build, const Say& say, BuildWatch watch)
      : build_(build), say_(say), watch_(std::move(watch)), folder_(build.name) {}

  Result<void> Run() {
    std::error_code error;
    fs::create_directories(folder_.objects, error);
    if (error) return FailErrno(error.value(), fmt::format("make the folder {}", folder_.objects));
    ASSIGN_OR_RETURN(const UniqueFd lock, Lock());
    fs::remove(folder_.manifest, error);
    RETURN_IF_ERROR(WriteWholeFile(folder_.log, ""));
    RETURN_IF_ERROR(PrepareSource());
    RETURN_IF_ERROR(Configure());
    Tell("compiling");
    RETURN_IF_ERROR(Make("build the kernel", {fmt::format("-j{}", BuildJobs()), "all"}));
    return Describe();
  }

 private:
  void Tell(const std::string& what) const {
    say_(fmt::format("kernel {}: {}", build_.name, what));
  }

  Result<UniqueFd> Lock() const {
    ASSIGN_OR_RETURN(UniqueFd lock, OpenFile(folder_.path + "/lock", O_RDWR | O_CREAT));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("the kernel {} is being built by another process", build_.name));
    }
    return lock;
  }

  // The original: a folder of the cache, or the user's tree.
  Result<std::string> Original() {
    if (!build_.source.starts_with(kDebian)) {
      std::error_code error;
      const std::string tree = fs::canonical(build_.source, error).string();
      if (error || !fs::exists(tree + "/Kconfig", error) || !fs::exists(tree + "/Makefile")) {
        return Fail(ErrorKind::kUsage,
                    fmt::format("{} is no kernel tree: there is no Makefile with a Kconfig in it",
                                build_.source));
      }
      return tree;
    }
    ASSIGN_OR_RETURN(const DebianSource source,
                     DebianSourceFolder(build_.source.substr(kDebian.size()), CacheDir(), say_,
                                        watch_.interrupted));
    package_ = source.package;
    return source.tree;
  }

  // Debian's source and what is to be patched are built from a copy; a tree of the user's is never
  // written to.
  Result<void> PrepareSource() {
    ASSIGN_OR_RETURN(const std::string original, Original());
    ASSIGN_OR_RETURN(changes_, DescribeChanges(build_.changes));
    commit_ = CommitOfTree(original);
    const bool changed = !changes_.empty();
    if (!changed && package_.empty()) {
      tree_ = original;
      std::error_code error;
      if (!fs::exists(tree_ + "/.config", error)) return {};
      return Fail(ErrorKind::kUsage,
                  fmt::format("{} is configured, so make does not build out of it: give it to "
                              "--kernel as it is, once built, or run make mrproper in it",
                              build_.source));
    }
    tree_ = folder_.source;
    // What stands there already is not made younger.
    const std::string wanted = fmt::format("{}\n{}", original, OriginToText(changes_));
    const std::string mark = folder_.path + "/source.is";
    if (!package_.empty() && ReadWholeFile(mark).value_or("") == wanted) return {};
    std::error_code error;
    fs::remove(mark, error);
    Tell("copying the source");
    RETURN_IF_ERROR(FollowTree(original, tree_, watch_.interrupted));
    if (changed) Tell("changing the source");
    RETURN_IF_ERROR(ApplyChanges(build_.changes, tree_, watch_));
    return WriteWholeFile(mark, wanted);
  }

  Result<void> Make(const std::string& what, const std::vector<std::string>& targets) const {
    // Fixed names and times: the same source gives the same kernel, whoever builds it and when.
    std::vector<std::string> argv = {"make",
                                     "O=" + folder_.objects,
                                     "LOCALVERSION=-" + build_.name,
                                     "KBUILD_BUILD_USER=blkfair",
                                     "KBUILD_BUILD_HOST=blkfair",
                                     "KBUILD_BUILD_VERSION=1",
                                     "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 2026"};
    if (UseCcache()) argv.emplace_back("CC=ccache gcc");
    argv.insert(argv.end(), targets.begin(), targets.end());
    return RunBuildStep({what, argv, tree_}, watch_);
  }

  static bool UseCcache() {
    return std::getenv("CC") == nullptr && std::getenv("LLVM") == nullptr &&
           FindExecutable("ccache").has_value();
  }

  Result<void> Configure() {
    Tell("configuring");
    RETURN_IF_ERROR(Make("make tinyconfig", {"tinyconfig"}));
    const std::string path = folder_.objects + "/.config";
    ASSIGN_OR_RETURN(std::string config, ReadWholeFile(path));
    config += OwnConfigFragment();
    std::string users;
    for (const std::string& fragment : build_.fragments) {
      const auto text = ReadWholeFile(fragment);
      if (!text) return Fail(ErrorKind::kUsage, text.error().message);
      users += *text + "\n";
    }
    RETURN_IF_ERROR(WriteWholeFile(path, config + users));
    RETURN_IF_ERROR(Make("make olddefconfig", {"olddefconfig"}));
    ASSIGN_OR_RETURN(config_, ReadWholeFile(path));
    for (const std::string& line : LinesNotTaken(users, config_)) {
      Tell(
          fmt::format("{} was not taken: this source has no such option, or what it depends on "
                      "is off",
                      line));
    }
    return {};
  }

  Result<void> Describe() const {
    RETURN_IF_ERROR(Make("make savedefconfig", {"savedefconfig"}));
    ASSIGN_OR_RETURN(std::string least, ReadWholeFile(folder_.objects + "/defconfig"));
    least.erase(least.find_last_not_of('\n') + 1);
    ASSIGN_OR_RETURN(std::string release,
                     ReadWholeFile(folder_.objects + "/include/config/kernel.release"));
    release.erase(release.find_last_not_of('\n') + 1);
    ASSIGN_OR_RETURN(const std::string compiler, CompilerVersion());
    KernelOrigin origin = {{"source", build_.source}};
    if (!package_.empty()) origin.emplace_back("package", package_);
    if (!commit_.empty()) origin.emplace_back("commit", commit_);
    origin.insert(origin.end(), changes_.begin(), changes_.end());
    origin.emplace_back("release", release);
    origin.emplace_back("compiler", compiler);
    origin.emplace_back("config sha256", Sha256(config_));
    // With the source it says every line of the config.
    origin.emplace_back("config", least);
    return WriteKernelOrigin(build_.name, origin);
  }

  const KernelBuild& build_;
  const Say& say_;
  const BuildWatch watch_;
  const BuiltKernelFolder folder_;
  std::string tree_;     // what make builds
  std::string package_;  // Debian's; empty: a tree of the user's
  std::string commit_;
  KernelOrigin changes_;
  std::string config_;
};

}  // namespace

std::vector<std::string> LinesNotTaken(std::string_view fragment, std::string_view config) {
  const KernelConfig wanted = ParseKernelConfig(fragment);
  const KernelConfig have = ParseKernelConfig(config);
  std::vector<std::string> lines;
  for (const auto& [symbol, value] : wanted) {
    const auto found = have.find(symbol);
    if (found == have.end() || found->second != value) {
      lines.push_back(fmt::format("CONFIG_{}={}", symbol, value));
    }
  }
  return lines;
}

Result<void> BuildKernel(const KernelBuild& build, const Say& say,
                         const std::function<bool()>& interrupted,
                         const std::function<void(const std::string&)>& progress) {
  if (!IsKernelName(build.name)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--name {}: a name has letters, digits, '.', '_' and '-', and is not "
                            "\"host\"",
                            build.name));
  }
  RETURN_IF_ERROR(RequireBuildTools(build.source.starts_with(kDebian), build.changes));
  BuildWatch watch;
  watch.log_file = BuiltKernelFolder(build.name).log;
  watch.interrupted = interrupted;
  watch.progress = progress;
  return Builder(build, say, std::move(watch)).Run();
}

}  // namespace blkfair
