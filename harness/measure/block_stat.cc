#include "harness/measure/block_stat.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <vector>

namespace blkfair {

Result<BlockStat> ParseBlockStat(std::string_view text) {
  constexpr size_t kInFlight = 8;
  // Where the four counters of each kind begin.
  constexpr std::array<size_t, BlockStat::kKinds> kBegin = {0, 4, 11};
  constexpr size_t kFields = 15;
  std::vector<uint64_t> fields;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\t')) at++;
    if (at == end) break;
    uint64_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      return Fail(ErrorKind::kKernel, fmt::format("read block stat: '{}' is no count", text));
    }
    fields.push_back(value);
    at = rest;
  }
  if (fields.size() < kFields) {
    return Fail(ErrorKind::kKernel, fmt::format("read block stat: {} fields, at least {} expected",
                                                fields.size(), kFields));
  }
  BlockStat stat;
  for (size_t i = 0; i < BlockStat::kKinds; i++) {
    const uint64_t* const field = &fields[kBegin[i]];
    stat.kinds[i] = {field[0], field[1], field[2], field[3]};
  }
  stat.in_flight = static_cast<uint32_t>(fields[kInFlight]);
  return stat;
}

uint64_t CounterDelta(uint64_t before, uint64_t after) {
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  // One that wraps at 32 bits has never been above them.
  if (after < before && before <= kMax32) return (after - before) & kMax32;
  return after - before;
}

}  // namespace blkfair
