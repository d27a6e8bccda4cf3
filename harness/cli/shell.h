// Text that a POSIX shell reads back as one word.
#pragma once

#include <string>
#include <string_view>

namespace blkfair {

// Unchanged where no quoting is needed.
std::string ShellQuoted(std::string_view word);

}  // namespace blkfair
