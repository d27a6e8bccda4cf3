// Looks at C++ text without compiling it: what is code, what is a literal, what is included. Good
// enough for style rules, no more. Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blkfair::style {

struct SourceFile {
  std::string path;  // from the top of the tree, "base/fd.h"
  std::string text;
};

struct Literal {
  size_t line = 0;  // 1-based
  std::string text;
  bool appended = false;  // a `+` stands before it
};

struct Include {
  size_t line = 0;
  std::string path;
  bool quoted = false;
};

struct TestName {
  size_t line = 0;
  std::string name;  // "Suite, Name" of TEST, TEST_F, TEST_P or TYPED_TEST
};

struct Body {
  size_t line = 0;  // of the opening brace
  std::string code;
};

// The text with comments and the insides of literals blanked; lines and columns stay as they were.
std::string CodeOnly(std::string_view text);
// String literals outside comments, without quotes; adjacent ones are not joined.
std::vector<Literal> StringLiterals(std::string_view text);
std::vector<Include> Includes(std::string_view text);
std::vector<TestName> TestNamesIn(std::string_view text);

// `code` is from CodeOnly. The bodies of functions that are defined with one of these names.
std::vector<Body> FunctionBodies(std::string_view code, std::span<const std::string_view> names);

// Positions at which `token` stands as a whole: no identifier character before or after it.
std::vector<size_t> FindToken(std::string_view code, std::string_view token);

std::vector<std::string_view> Lines(std::string_view text);
size_t LineAt(std::string_view text, size_t position);

}  // namespace blkfair::style
