#include <algorithm>
#include <cctype>

#include "tests/style/rules.h"

namespace blkfair::style {

namespace {

constexpr std::string_view kList = "tests/style/cases_with_tests.txt";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// B2 is not in B27Name.
bool Contains(std::string_view name, std::string_view id) {
  for (size_t at = name.find(id); at != std::string_view::npos; at = name.find(id, at + 1)) {
    const size_t end = at + id.size();
    if (end == name.size() || !IsDigit(name[end])) return true;
  }
  return false;
}

}  // namespace

Findings CasesHaveTests(Files files) {
  std::vector<std::string> names;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with(".cc")) continue;
    for (const TestName& test : TestNamesIn(file.text)) names.push_back(test.name);
  }
  Findings findings;
  bool listed = false;
  for (const SourceFile& file : files) {
    if (file.path != kList) continue;
    listed = true;
    size_t number = 0;
    for (const std::string_view id : Lines(file.text)) {
      ++number;
      if (id.empty() || id.starts_with('#')) continue;
      const bool tested = std::any_of(names.begin(), names.end(),
                                      [id](const std::string& name) { return Contains(name, id); });
      if (tested) continue;
      findings.push_back(
          {file.path, number,
           "case " + std::string(id) + " has no test: name one " + "of tests/**.cc after it"});
    }
  }
  if (!listed) findings.push_back({std::string(kList), 0, "the list of cases is missing"});
  return findings;
}

}  // namespace blkfair::style
