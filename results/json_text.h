// JSON values as text: always valid UTF-8 (bytes that are not are replaced), never NaN or infinity.
// The only header that names nlohmann/json; included by the record's and the reports' JSON code.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace blkfair {

using Json = nlohmann::ordered_json;

// `pretty`: two spaces a level, arrays without objects on one line, a newline at the end.
std::string JsonText(const Json& json, bool pretty);

// The number, or null where there is none.
Json JsonNumber(double value);

}  // namespace blkfair
