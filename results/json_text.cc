#include "results/json_text.h"

#include <algorithm>
#include <cmath>

namespace blkfair {

namespace {

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

std::string JsonText(const Json& json, bool pretty) {
  if (!pretty) return OneLine(json);
  std::string text;
  AppendPretty(json, 0, &text);
  return text + '\n';
}

Json JsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace blkfair
