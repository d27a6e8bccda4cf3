// Text that a POSIX shell reads back: as one word, or as options.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace blkfair {

// Unchanged where no quoting is needed.
std::string ShellQuoted(std::string_view word);
// " --set KEY=VALUE" for each.
std::string SetOptions(std::span<const std::string> overrides);

}  // namespace blkfair
