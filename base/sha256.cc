#include "base/sha256.h"

#include <sha256.h>

#include <array>
#include <cstdint>

#include "base/check.h"

namespace blkfair {

std::string Sha256(std::string_view text) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> hex;
  CHECK(SHA256Data(reinterpret_cast<const uint8_t*>(text.data()), text.size(), hex.data()) !=
        nullptr);
  return std::string(hex.data());
}

}  // namespace blkfair
