#include "harness/guest/built_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/user_dirs.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameMax = 64;  // with the version it has to fit into a kernel's release

std::string Root() { return CacheDir() + "/built"; }

}  // namespace

BuiltKernelFolder::BuiltKernelFolder(const std::string& name)
    : path(Root() + "/" + name),
      source(path + "/source"),
      objects(path + "/objects"),
      manifest(path + "/manifest"),
      log(path + "/build.log") {}

bool IsKernelName(std::string_view word) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !word.empty() && word.size() <= kNameMax && word.front() != '.' && word.front() != '-' &&
         word != "host" && word.find_first_not_of(kLetters) == std::string_view::npos;
}

std::vector<std::string> BuiltKernelNames() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(Root(), error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(error) && IsKernelName(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<KernelOrigin> ReadKernelOrigin(const std::string& name) {
  const BuiltKernelFolder folder(name);
  std::error_code error;
  if (!fs::exists(folder.manifest, error)) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the kernel {} was not built to its end: build it again "
                            "(blkfair kernel build --name {}); what its last build said is in {}",
                            name, name, folder.log));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(folder.manifest));
  return OriginFromText(text);
}

Result<void> WriteKernelOrigin(const std::string& name, const KernelOrigin& origin) {
  return WriteWholeFile(BuiltKernelFolder(name).manifest, OriginToText(origin));
}

std::string OriginToText(const KernelOrigin& origin) {
  std::string text;
  for (const auto& [key, value] : origin) {
    text += key + ": ";
    for (const char c : value) {
      text += c;
      if (c == '\n') text += '\t';
    }
    text += '\n';
  }
  return text;
}

KernelOrigin OriginFromText(std::string_view text) {
  KernelOrigin origin;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('\t') && !origin.empty()) {
      origin.back().second += fmt::format("\n{}", line.substr(1));
    } else if (const size_t colon = line.find(": "); colon != std::string_view::npos) {
      origin.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
  }
  return origin;
}

std::string OriginValue(const KernelOrigin& origin, std::string_view key) {
  const auto found = std::find_if(origin.begin(), origin.end(),
                                  [&](const auto& fact) { return fact.first == key; });
  return found == origin.end() ? std::string() : found->second;
}

}  // namespace blkfair
