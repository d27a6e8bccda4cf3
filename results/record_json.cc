#include "results/record_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "results/json_text.h"
#include "results/record_fields.h"

namespace blkfair {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kOutcomes = {RunOutcome::kDied, RunOutcome::kComplete,
                                  RunOutcome::kInterrupted, RunOutcome::kUnmet, RunOutcome::kError};

// Makes one JSON value of each kind of field. (Members of one class, so that each sees all others.)
class Writer {
 public:
  static Json ToJson(const std::string& value) { return value; }
  static Json ToJson(bool value) { return value; }
  static Json ToJson(std::integral auto value) { return value; }
  static Json ToJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  static Json ToJson(RunOutcome outcome) { return std::string(RunOutcomeName(outcome)); }

  static Json ToJson(const SeriesCell& cell) {
    return Json::array({cell.ios, cell.bytes, cell.lat_sum_ns, cell.lat_max_ns, cell.in_flight});
  }

  static Json ToJson(const std::map<std::string, uint64_t>& counts) {
    Json json = Json::object();
    for (const auto& [key, count] : counts) json[key] = count;
    return json;
  }

  template <typename A, typename B>
  static Json ToJson(const std::pair<A, B>& pair) {
    return Json::array({pair.first, pair.second});
  }

  template <typename T>
  static Json ToJson(const std::optional<T>& value) {
    return value ? ToJson(*value) : Json(nullptr);
  }

  template <typename T>
  static Json ToJson(const std::vector<T>& items) {
    Json json = Json::array();
    for (const T& item : items) json.push_back(ToJson(item));
    return json;
  }

  static Json ToJson(const LatencyStats& stats) {
    return {{"count", stats.count()},
            {"sum_ns", stats.sum_ns()},
            {"min_ns", ToJson(stats.min_ns())},
            {"max_ns", ToJson(stats.max_ns())},
            {"stddev_ns", ToJson(stats.stddev_ns())},
            {"buckets", ToJson(stats.histogram().Sparse())}};
  }

  template <typename T>
  requires requires(Writer& writer, const T& value) { Fields(writer, value); }
  static Json ToJson(const T& value) {
    Writer writer;
    Fields(writer, value);
    return std::move(writer.json_);
  }

  // One field of the object being written.
  template <typename T>
  void operator()(const char* key, const T& value) {
    json_[key] = ToJson(value);
  }

 private:
  Json json_ = Json::object();
};

// Reads one value at a time and remembers the first problem, with its place in the document.
class Reader {
 public:
  const std::string& problem() const { return problem_; }
  bool ok() const { return problem_.empty(); }

  bool Read(const Json& json, std::string* out) {
    if (!json.is_string()) return Problem("is not a string");
    *out = json.get<std::string>();
    return true;
  }

  bool Read(const Json& json, bool* out) {
    if (!json.is_boolean()) return Problem("is not true or false");
    *out = json.get<bool>();
    return true;
  }

  bool Read(const Json& json, std::integral auto* out) {
    using T = std::remove_pointer_t<decltype(out)>;
    if (json.is_number_unsigned()) {
      const auto value = json.get<uint64_t>();
      if (std::in_range<T>(value)) return *out = static_cast<T>(value), true;
    } else if (json.is_number_integer()) {
      const auto value = json.get<int64_t>();
      if (std::in_range<T>(value)) return *out = static_cast<T>(value), true;
    }
    return Problem(fmt::format("is not a whole number from {} to {}", std::numeric_limits<T>::min(),
                               std::numeric_limits<T>::max()));
  }

  bool Read(const Json& json, double* out) {
    if (!json.is_number()) return Problem("is not a number");
    *out = json.get<double>();
    return true;
  }

  bool Read(const Json& json, RunOutcome* out) {
    for (const RunOutcome outcome : kOutcomes) {
      if (json == Json(std::string(RunOutcomeName(outcome)))) return *out = outcome, true;
    }
    return Problem("is not an outcome that this version knows");
  }

  bool Read(const Json& json, SeriesCell* out) {
    if (!json.is_array() || json.size() != 5) return Problem("is not an array of five numbers");
    return Read(json[0], &out->ios) && Read(json[1], &out->bytes) &&
           Read(json[2], &out->lat_sum_ns) && Read(json[3], &out->lat_max_ns) &&
           Read(json[4], &out->in_flight);
  }

  bool Read(const Json& json, std::map<std::string, uint64_t>* out) {
    if (!json.is_object()) return Problem("is not an object");
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (!ReadAt("." + it.key(), it.value(), &(*out)[it.key()])) return false;
    }
    return true;
  }

  template <typename A, typename B>
  bool Read(const Json& json, std::pair<A, B>* out) {
    if (!json.is_array() || json.size() != 2) return Problem("is not a pair");
    return Read(json[0], &out->first) && Read(json[1], &out->second);
  }

  template <typename T>
  bool Read(const Json& json, std::optional<T>* out) {
    out->reset();
    return json.is_null() || Read(json, &out->emplace());
  }

  template <typename T>
  bool Read(const Json& json, std::vector<T>* out) {
    if (!json.is_array()) return Problem("is not an array");
    out->resize(json.size());
    for (size_t i = 0; i < json.size(); i++) {
      if (!ReadAt(fmt::format("[{}]", i), json[i], &(*out)[i])) return false;
    }
    return true;
  }

  bool Read(const Json& json, LatencyStats* out);

  template <typename T>
  requires requires(Reader& reader, T& value) { Fields(reader, value); }
  bool Read(const Json& json, T* out) {
    return ReadObject(json, [&] { Fields(*this, *out); });
  }

  // One field of the object being read.
  template <typename T>
  void operator()(const std::string& key, T& value) {
    if (!ok()) return;
    const auto it = object_->find(key);
    if (it == object_->end()) {
      Problem(fmt::format("has no \"{}\"", key));
      return;
    }
    fields_read_++;
    ReadAt("." + key, *it, &value);
  }

 private:
  bool Problem(const std::string& what) {
    if (ok()) problem_ = (path_.empty() ? "it" : path_.substr(1)) + " " + what;
    return false;
  }

  template <typename T>
  bool ReadAt(const std::string& step, const Json& json, T* out) {
    const size_t length = path_.size();
    path_ += step;
    const bool read = Read(json, out);
    path_.resize(length);
    return read;
  }

  // Calls `fields`, which reads each field of `json`; a key that it does not read is a problem too.
  template <typename F>
  bool ReadObject(const Json& json, const F& fields) {
    if (!json.is_object()) return Problem("is not an object");
    const Json* outer_object = std::exchange(object_, &json);
    const size_t outer_fields_read = std::exchange(fields_read_, 0);
    fields();
    if (ok() && fields_read_ != json.size()) Problem("has keys that this version does not know");
    object_ = outer_object;
    fields_read_ = outer_fields_read;
    return ok();
  }

  const Json* object_ = nullptr;
  size_t fields_read_ = 0;
  std::string path_;
  std::string problem_;
};

bool Reader::Read(const Json& json, LatencyStats* out) {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  std::optional<int64_t> min_ns;
  std::optional<int64_t> max_ns;
  std::optional<double> stddev_ns;
  std::vector<std::pair<uint32_t, uint64_t>> buckets;
  const bool read = ReadObject(json, [&] {
    (*this)("count", count);
    (*this)("sum_ns", sum_ns);
    (*this)("min_ns", min_ns);
    (*this)("max_ns", max_ns);
    (*this)("stddev_ns", stddev_ns);
    (*this)("buckets", buckets);
  });
  if (!read) return false;
  if (min_ns.has_value() != (count > 0) || max_ns.has_value() != (count > 0) ||
      stddev_ns.has_value() != (count > 1) || min_ns.value_or(0) < 0 ||
      min_ns.value_or(0) > max_ns.value_or(0)) {
    return Problem("has a min, max or stddev that its count cannot have");
  }
  Histogram histogram;
  for (const auto& [bucket, samples] : buckets) {
    if (bucket > Histogram::kBuckets) return Problem("has a bucket beyond the histogram");
    histogram.AddBucket(bucket, samples);
  }
  if (histogram.total() != count) return Problem("has buckets that do not add up to its count");
  *out = LatencyStats::Restore(std::move(histogram), count, sum_ns, min_ns.value_or(0),
                               max_ns.value_or(0), stddev_ns.value_or(0));
  return true;
}

// Bytes that are not UTF-8 (the kernel's command line may hold anything) are replaced.
std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Result<T> FromJson(const Json& json, std::string_view what) {
  T value;
  Reader reader;
  if (!reader.Read(json, &value)) {
    return Fail(ErrorKind::kUsage, fmt::format("not a {} of blkfair: {}", what, reader.problem()));
  }
  return value;
}

Result<Json> Parse(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return Fail(ErrorKind::kUsage,
                fmt::format("not a {} of blkfair: it is not complete JSON (cut short, or with "
                            "other text around it)",
                            what));
  }
  return json;
}

}  // namespace

std::string RecordToJson(const Record& record, bool pretty) {
  const std::string text = Text(Writer::ToJson(record));
  return pretty ? PrettyJson(text) : text;
}

std::string PhaseToJson(const PhaseRecord& phase) { return Text(Writer::ToJson(phase)); }

std::string ComparableJson(const Record& record) {
  Json json = Writer::ToJson(record);
  json.erase("host");
  return PrettyJson(Text(json));
}

Result<Record> RecordFromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Parse(text, "record"));
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (schema == json.end() || !schema->is_number_integer()) {
    return Fail(ErrorKind::kUsage, "not a record of blkfair: it has no \"schema\" number");
  }
  if (*schema != kRecordSchema) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("a record of schema {}, and this blkfair reads schema {}: judge it with "
                    "the version that wrote it",
                    schema->dump(), kRecordSchema));
  }
  return FromJson<Record>(json, "record");
}

Result<PhaseRecord> PhaseFromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, Parse(text, "phase"));
  return FromJson<PhaseRecord>(json, "phase");
}

}  // namespace blkfair
