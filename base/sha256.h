// SHA-256, as lower-case hex: the identity of texts. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace blkfair {

std::string Sha256(std::string_view text);

}  // namespace blkfair
