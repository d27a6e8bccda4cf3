#include "harness/kernels/build_tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "harness/guest/process.h"

namespace blkfair {
namespace {

struct Tool {
  std::string_view program;
  std::string_view package;
};

// Documentation/process/changes.rst names them; perl, cpio and openssl are not needed for a kernel
// without modules, an initramfs of its own and signatures.
constexpr std::array kTools = {Tool{"make", "make"}, Tool{"gcc", "gcc"},     Tool{"ld", "binutils"},
                               Tool{"flex", "flex"}, Tool{"bison", "bison"}, Tool{"bc", "bc"}};
constexpr Tool kTar = {"tar", "tar"};
constexpr Tool kXz = {"xz", "xz-utils"};
constexpr Tool kPatch = {"patch", "patch"};

}  // namespace

Result<void> RequireBuildTools(bool unpacks, const SourceChanges& changes) {
  std::vector<Tool> tools(kTools.begin(), kTools.end());
  if (unpacks) tools.insert(tools.end(), {kTar, kXz});
  if (!changes.patches.empty()) tools.push_back(kPatch);
  std::vector<std::string> missing;
  std::vector<std::string> packages;
  for (const Tool& tool : tools) {
    if (FindExecutable(std::string(tool.program))) continue;
    missing.emplace_back(tool.program);
    packages.emplace_back(tool.package);
  }
  // objtool, which the build of an x86-64 kernel runs, reads ELF files with it.
  const bool has_gcc = FindExecutable("gcc").has_value();
  if (has_gcc &&
      !RunProgram({"gcc", "-E", "-include", "gelf.h", "-x", "c", "/dev/null"}, "look for libelf")) {
    missing.emplace_back("the headers of libelf");
    packages.emplace_back("libelf-dev");
  }
  if (missing.empty()) return {};
  return Fail(ErrorKind::kUnmet,
              fmt::format("to build a kernel {} must be installed: `./dev kernel ...` does that, "
                          "or, on Debian, apt-get install {}",
                          fmt::join(missing, ", "), fmt::join(packages, " ")));
}

Result<std::string> CompilerVersion() {
  const char* chosen = std::getenv("CC");
  const std::string compiler = chosen != nullptr                ? chosen
                               : std::getenv("LLVM") != nullptr ? "clang"
                                                                : "gcc";
  ASSIGN_OR_RETURN(const std::string text,
                   RunProgram({compiler, "--version"}, "ask the compiler for its version"));
  return text.substr(0, text.find('\n'));
}

}  // namespace blkfair
