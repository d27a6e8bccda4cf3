#include "base/params.h"

#include "base/check.h"

namespace blkfair {

namespace {

template <typename T>
const T& As(const ParamValue& value) {
  const T* typed = std::get_if<T>(&value);
  CHECK(typed != nullptr);
  return *typed;
}

template <typename T>
const T& ElementAt(const std::vector<T>& list, size_t i) {
  CHECK(!list.empty());
  if (list.size() == 1) return list.front();
  CHECK(i < list.size());
  return list[i];
}

}  // namespace

const ParamValue& ParamValues::Get(std::string_view name) const {
  const auto it = values_.find(name);
  CHECK(it != values_.end());
  return it->second;
}

bool ParamValues::Bool(std::string_view name) const { return As<bool>(Get(name)); }
int64_t ParamValues::Int(std::string_view name) const { return As<int64_t>(Get(name)); }
double ParamValues::Number(std::string_view name) const { return As<double>(Get(name)); }
const std::string& ParamValues::String(std::string_view name) const {
  return As<std::string>(Get(name));
}
const MetricValue& ParamValues::Metric(std::string_view name) const {
  return As<MetricValue>(Get(name));
}
const std::vector<int64_t>& ParamValues::Ints(std::string_view name) const {
  return As<std::vector<int64_t>>(Get(name));
}
const std::vector<double>& ParamValues::Numbers(std::string_view name) const {
  return As<std::vector<double>>(Get(name));
}
const std::vector<std::string>& ParamValues::Strings(std::string_view name) const {
  return As<std::vector<std::string>>(Get(name));
}
int64_t ParamValues::IntAt(std::string_view name, size_t i) const {
  return ElementAt(Ints(name), i);
}
const std::string& ParamValues::StringAt(std::string_view name, size_t i) const {
  return ElementAt(Strings(name), i);
}

}  // namespace blkfair
