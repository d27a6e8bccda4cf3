// JSON laid out for people: two spaces a level, arrays without objects in them on one line.
// (Without that, a histogram of four hundred buckets is two thousand lines.) Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace blkfair {

// `json`: any valid JSON text. The same document, ending in a newline.
std::string PrettyJson(std::string_view json);

}  // namespace blkfair
