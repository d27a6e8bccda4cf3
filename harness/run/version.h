// The version of blkfair that a record names.
#pragma once

#include <string_view>

namespace blkfair {
inline constexpr std::string_view kVersion = BLKFAIR_VERSION;
}  // namespace blkfair
