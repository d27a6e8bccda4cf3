#include "harness/kernels/tree_build.h"

#include <fmt/format.h>

#include <filesystem>

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImage = "arch/x86/boot/bzImage";

Result<void> RunMake(const std::string& tree, const BuildWatch& watch) {
  std::error_code error;
  if (!fs::exists(tree + "/.config", error)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("build {}: there is no .config in it; configure it, or say with "
                            "--build how it is built",
                            tree));
  }
  const std::string jobs = fmt::format("-j{}", BuildJobs());
  RETURN_IF_ERROR(RunBuildStep({"configure the tree", {"make", "olddefconfig"}, tree}, watch));
  return RunBuildStep({"build the tree", {"make", jobs}, tree}, watch);
}

}  // namespace

Result<Kernel> BuildTree(const std::string& tree, const std::string& command,
                         const BuildWatch& watch) {
  if (command.empty()) {
    RETURN_IF_ERROR(RunMake(tree, watch));
  } else {
    RETURN_IF_ERROR(RunBuildStep({"build the tree", {"sh", "-c", command}, tree}, watch));
  }
  std::error_code error;
  const std::string image = fmt::format("{}/{}", tree, kImage);
  if (!fs::exists(image, error)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the build of {} succeeded and left no {} in it", tree, kImage));
  }
  auto kernel = ResolveKernel(
      tree, [](const std::string&) {}, watch.interrupted);
  if (!kernel && kernel.error().kind == ErrorKind::kUsage) {
    return Fail(ErrorKind::kKernel, kernel.error().message);  // an image, but of no kernel
  }
  return kernel;
}

}  // namespace blkfair
