#include "harness/cli/shell.h"

namespace blkfair {

std::string ShellQuoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string SetOptions(std::span<const std::string> overrides) {
  std::string options;
  for (const std::string& text : overrides) options += " --set " + ShellQuoted(text);
  return options;
}

}  // namespace blkfair
