#include <algorithm>
#include <cctype>
#include <set>

#include "tests/style/rules.h"

namespace blkfair::style {
namespace {

constexpr size_t kColumnsMax = 100;
constexpr size_t kSourceLinesMax = 600;
constexpr size_t kHeaderLinesMax = 300;
constexpr size_t kOpeningLinesMax = 10;

bool IsCpp(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h"); }
bool IsTest(std::string_view path) { return path.starts_with("tests/"); }

// Kernel paths that may stand outside base/kernel_fs.cc: they are about this process or about the
// host of a guest, never about a kernel under test.
struct PathException {
  std::string_view path;
  std::string_view literal;
};
constexpr PathException kPathExceptions[] = {
    {"harness/cli/", "/proc/self/exe"},
    {"harness/guest/", "/proc/self/exe"},
    {"harness/guest/image.cc", "/proc"},  // a mount point in the guest's image
    {"harness/guest/image.cc", "/sys"},
};

bool IsKernelPath(std::string_view literal) {
  for (const std::string_view root : {"/sys", "/proc"}) {
    if (literal == root) return true;
    if (literal.starts_with(root) && literal[root.size()] == '/') return true;
  }
  return false;
}

bool IsExcepted(std::string_view path, std::string_view literal) {
  return std::any_of(std::begin(kPathExceptions), std::end(kPathExceptions),
                     [&](const PathException& exception) {
                       return path.starts_with(exception.path) && literal == exception.literal;
                     });
}

struct BannedWord {
  std::string_view word;
  std::string_view except_in;  // the one file that may
  std::string_view instead;
};
constexpr BannedWord kBannedWords[] = {
    {"shared_ptr", "", "nothing here has a shared lifetime: unique_ptr, or a borrowed pointer"},
    {"close", "base/fd.cc", "descriptors belong to a UniqueFd (base/fd.h)"},
    {"std::cout", "", "the output is passed in, or fmt::print to it"},
    {"std::endl", "", "write \\n"},
    {"rand", "", "seeds are part of the scenario: use the workload's generator"},
    {"random_device", "", "seeds are part of the scenario: use the workload's generator"},
    {"system", "", "start processes without a shell (harness/guest/process.h)"},
    {"usleep", "", "time is injected: wait through the executor's clock"},
    {"strcpy", "", "use std::string"},
    {"sprintf", "", "use fmt::format"},
};

// Words that are only wrong as a call of the C function: not x.close(), not x->close(), not
// thing::close().
bool IsPlainCall(std::string_view code, size_t at, std::string_view word) {
  const size_t end = at + word.size();
  if (end >= code.size() || code[end] != '(') return false;
  const std::string_view before = code.substr(0, at);
  if (before.ends_with("::")) {
    const char owner = before.size() > 2 ? before[before.size() - 3] : ' ';
    return std::isalnum(static_cast<unsigned char>(owner)) == 0 && owner != '_' && owner != '>';
  }
  return !before.ends_with('.') && !before.ends_with("->");
}

bool IsTypeName(std::string_view word) {
  return word.find("::") != std::string_view::npos || word.ends_with("_ptr") ||
         word.ends_with("_device");
}

size_t Columns(std::string_view line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not the rest of a UTF-8 character
  }));
}

}  // namespace

std::string Finding::ToString() const {
  return path + (line == 0 ? "" : ":" + std::to_string(line)) + ": " + message;
}

Findings KernelPaths(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path) || IsTest(file.path) || file.path == "base/kernel_fs.cc") continue;
    for (const Literal& literal : StringLiterals(file.text)) {
      if (literal.appended || !IsKernelPath(literal.text)) continue;
      if (IsExcepted(file.path, literal.text)) continue;
      findings.push_back({file.path, literal.line,
                          "\"" + literal.text + "\": kernel trees are reached below KernelRoots"});
    }
  }
  return findings;
}

Findings BannedWords(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path)) continue;
    const std::string code = CodeOnly(file.text);
    for (const BannedWord& banned : kBannedWords) {
      if (file.path == banned.except_in) continue;
      for (const size_t at : FindToken(code, banned.word)) {
        if (!IsTypeName(banned.word) && !IsPlainCall(code, at, banned.word)) continue;
        findings.push_back({file.path, LineAt(code, at),
                            std::string(banned.word) + ": " + std::string(banned.instead)});
      }
    }
  }
  return findings;
}

Findings HeaderOpening(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.path.ends_with(".h")) continue;
    const std::vector<std::string_view> lines = Lines(file.text);
    size_t comments = 0;
    while (comments < lines.size() && lines[comments].starts_with("//")) ++comments;
    if (comments == 0) {
      findings.push_back({file.path, 1, "a header opens with what it is and who may call it"});
    }
    if (comments > kOpeningLinesMax) {
      findings.push_back({file.path, 1, "the opening comment is longer than ten lines"});
    }
    if (comments >= lines.size() || lines[comments] != "#pragma once") {
      findings.push_back({file.path, comments + 1, "#pragma once follows the opening comment"});
    }
  }
  return findings;
}

Findings FileLength(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path)) continue;
    const size_t lines_max = file.path.ends_with(".h") ? kHeaderLinesMax : kSourceLinesMax;
    const size_t lines = Lines(file.text).size();
    if (lines <= lines_max) continue;
    findings.push_back({file.path, 0,
                        std::to_string(lines) + " lines, more than " + std::to_string(lines_max) +
                            ": look for the second thing in it"});
  }
  return findings;
}

Findings LineLength(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    const bool script = file.text.starts_with("#!");
    if (!IsCpp(file.path) && !script && !file.path.ends_with("CMakeLists.txt")) {
      continue;
    }
    size_t number = 0;
    for (const std::string_view line : Lines(file.text)) {
      ++number;
      // A text that a test expects is easier to read in one piece.
      if (IsTest(file.path) && line.find("R\"(") != std::string_view::npos) continue;
      if (Columns(line) > kColumnsMax) {
        findings.push_back({file.path, number, "longer than 100 columns"});
      }
    }
  }
  return findings;
}

// What is not finished has an issue's number.
Findings OpenEnds(Files files) {
  constexpr std::string_view kToDo =
      "TO"
      "DO";
  constexpr std::string_view kFixMe =
      "FIX"
      "ME";
  Findings findings;
  for (const SourceFile& file : files) {
    for (const size_t at : FindToken(file.text, kFixMe)) {
      findings.push_back({file.path, LineAt(file.text, at), "fix it, or file an issue"});
    }
    for (const size_t at : FindToken(file.text, kToDo)) {
      const std::string_view after = std::string_view(file.text).substr(at + kToDo.size());
      if (after.starts_with("(") && after.size() > 1 &&
          std::isdigit(static_cast<unsigned char>(after[1])) != 0) {
        continue;
      }
      findings.push_back({file.path, LineAt(file.text, at), "needs the number of its issue: (12)"});
    }
  }
  return findings;
}

// The tree is read by people who do not know the machines it was written on.
Findings WorkplaceNames(Files files) {
  // In two pieces, so that this file does not hold them.
  constexpr std::string_view kNames[] = {
      "/wo"
      "rk/",
      "/ro"
      "ot/",
      ".lib"
      "rary",
      "/ho"
      "me/user"};
  Findings findings;
  for (const SourceFile& file : files) {
    const std::string_view text = file.text;
    for (const std::string_view name : kNames) {
      for (size_t at = text.find(name); at != std::string_view::npos;
           at = text.find(name, at + 1)) {
        // "$folder/work/..." is a path of its own, not that of a machine.
        const char before = at == 0 ? ' ' : text[at - 1];
        if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '}') continue;
        findings.push_back(
            {file.path, LineAt(text, at), std::string(name) + ": names somebody's machine"});
      }
    }
  }
  return findings;
}

Findings TestNames(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsTest(file.path) || !file.path.ends_with(".cc")) continue;
    const std::string code = CodeOnly(file.text);
    for (const TestName& test : TestNamesIn(file.text)) {
      if (test.name.find('_') == std::string::npos) continue;
      findings.push_back({file.path, test.line, "test names are CamelCase, without _"});
    }
    if (FindToken(code, "DISABLED").empty() && code.find("DISABLED_") == std::string::npos)
      continue;
    findings.push_back({file.path, 0, "a test that is not run is not a test: skip with a reason"});
  }
  return findings;
}

}  // namespace blkfair::style
