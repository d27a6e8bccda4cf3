// Lets every style rule loose on the source tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/style/rules.h"

namespace blkfair::style {

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSourceDir = BLKFAIR_SOURCE_DIR;
constexpr uintmax_t kBytesMax = 4 << 20;

bool IsOurs(const fs::path& entry) {
  constexpr std::string_view kNotOurs[] = {".git", "build", "blkfair-results", ".cache"};
  const std::string name = entry.filename().string();
  return std::find(std::begin(kNotOurs), std::end(kNotOurs), name) == std::end(kNotOurs);
}

bool IsText(const std::string& text) { return text.find('\0') == std::string::npos; }

std::vector<SourceFile> ReadTree() {
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(kSourceDir);
       it != fs::recursive_directory_iterator(); ++it) {
    if (!IsOurs(it->path())) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || it->is_symlink() || it->file_size() > kBytesMax) continue;
    std::ostringstream text;
    text << std::ifstream(it->path(), std::ios::binary).rdbuf();
    if (!IsText(text.str())) continue;
    files.push_back({fs::relative(it->path(), kSourceDir).string(), text.str()});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

const std::vector<SourceFile>& TheTree() {
  static const std::vector<SourceFile> files = ReadTree();
  return files;
}

TEST(TreeReader, SeesTheSourcesAndTheScripts) {
  for (const std::string_view path : {"base/fd.cc", "dev", "CMakeLists.txt"}) {
    const auto& files = TheTree();
    EXPECT_TRUE(std::any_of(files.begin(), files.end(), [&](const SourceFile& file) {
      return file.path == path;
    })) << path;
  }
}

class StyleTree : public testing::TestWithParam<Rule> {};

TEST_P(StyleTree, Keeps) {
  for (const Finding& finding : GetParam().check(TheTree())) {
    ADD_FAILURE() << finding.ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, StyleTree, testing::ValuesIn(kRules),
                         [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace blkfair::style
