#include "results/json_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace blkfair {

namespace {

using Json = nlohmann::ordered_json;

std::string OneLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool HoldsObjects(const Json& json) {
  if (json.is_object()) return true;
  return json.is_array() && std::any_of(json.begin(), json.end(), HoldsObjects);
}

void AppendPretty(const Json& json, size_t indent, std::string* out) {
  if (json.empty() || !HoldsObjects(json)) {
    *out += OneLine(json);
    return;
  }
  const bool object = json.is_object();
  const std::string margin(indent + 2, ' ');
  *out += object ? "{\n" : "[\n";
  bool first = true;
  for (auto it = json.begin(); it != json.end(); ++it) {
    if (!first) *out += ",\n";
    first = false;
    *out += margin;
    if (object) *out += OneLine(Json(it.key())) + ": ";
    AppendPretty(it.value(), indent + 2, out);
  }
  *out += '\n' + std::string(indent, ' ') + (object ? '}' : ']');
}

}  // namespace

std::string PrettyJson(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  CHECK(!document.is_discarded());
  std::string text;
  AppendPretty(document, 0, &text);
  return text + '\n';
}

}  // namespace blkfair
