#include "harness/kernels/tree_build.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/hash.h"
#include "harness/kernels/kernel_build.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr auto kSilent = [](const std::string&) {};
constexpr const char* kImage = "arch/x86/boot/bzImage";

Result<void> RunMake(const std::string& tree, const BuildWatch& watch) {
  const std::string jobs = fmt::format("-j{}", BuildJobs());
  RETURN_IF_ERROR(RunBuildStep({"configure the tree", {"make", "olddefconfig"}, tree}, watch));
  return RunBuildStep({"build the tree", {"make", jobs}, tree}, watch);
}

}  // namespace

Result<Kernel> BuildTree(const std::string& tree, const std::string& command,
                         const BuildWatch& watch) {
  std::error_code error;
  if (!command.empty()) {
    RETURN_IF_ERROR(RunBuildStep({"build the tree", {"sh", "-c", command}, tree}, watch));
  } else if (fs::exists(tree + "/.config", error)) {
    RETURN_IF_ERROR(RunMake(tree, watch));
  } else {
    KernelBuild build;
    build.name = fmt::format("bisect-{:08x}", static_cast<uint32_t>(HashOf(tree)));
    build.source = tree;
    RETURN_IF_ERROR(BuildKernel(build, kSilent, watch.interrupted, watch.progress));
    return ResolveKernel(build.name, kSilent, watch.interrupted);
  }
  const std::string image = fmt::format("{}/{}", tree, kImage);
  if (!fs::exists(image, error)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the build of {} succeeded and left no {} in it", tree, kImage));
  }
  auto kernel = ResolveKernel(tree, kSilent, watch.interrupted);
  if (!kernel && kernel.error().kind == ErrorKind::kUsage) {
    return Fail(ErrorKind::kKernel, kernel.error().message);  // an image, but of no kernel
  }
  return kernel;
}

}  // namespace blkfair
