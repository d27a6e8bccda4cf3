// Sizes and durations as people write them ("128KiB", "50ms"), and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace blkfair {

// Bytes. Suffixes B, KiB, MiB, GiB, TiB (powers of 1024) and kB, MB, GB, TB (powers of 1000);
// case matters. A bare number, a sign, a fraction of a byte or an overflow is a kUsage error whose
// message says what is accepted.
Result<int64_t> ParseSize(std::string_view text);

// Nanoseconds. Suffixes ns, us, ms, s, min, h. Fractions are accepted ("1.5ms") where they come to
// whole nanoseconds.
Result<int64_t> ParseDuration(std::string_view text);

// A fraction: "5%" is 0.05.
Result<double> ParsePercent(std::string_view text);

// The shortest exact form, which the parser above reads back to the same value: "128KiB", "1500us".
std::string FormatSize(int64_t bytes);
std::string FormatDuration(int64_t ns);
std::string FormatPercent(double fraction);

// For people, not for parsers: three or four significant digits. "1.09 ms", "34.2k", "1.75 MiB/s".
std::string HumanDuration(double ns);
std::string HumanCount(double value);
std::string HumanBytesPerSecond(double bytes_per_second);

}  // namespace blkfair
