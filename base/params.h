// Parameter tables: how engines, fixtures, assertions and jobs publish their keys. One table
// validates scenarios, prints `blkfair list` and generates the key reference. ParamValues holds the
// values of one table, typed and with every default filled in.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace blkfair {

enum class ParamType : uint8_t {
  kBool,         // true | false                      -> bool
  kInt,          // a whole number                    -> int64_t
  kNumber,       // a real number without a dimension -> double
  kSize,         // "128KiB"                          -> int64_t, bytes
  kDuration,     // "50ms"                            -> int64_t, nanoseconds
  kPercent,      // "5%"                              -> double, a fraction
  kString,       // free text                         -> std::string
  kChoice,       // one of `choices`                  -> std::string
  kMetricValue,  // bare number for a count or ratio, "5ms" for a time, "1MiB" for bytes (per
                 // second): the metric decides       -> MetricValue
  kTable,        // what the scenario language itself reads: no value, and not for parts
};

enum class ParamShape : uint8_t {
  kOne,        // a single value
  kList,       // an array, possibly of one
  kOneOrList,  // either; a single value stands for all
};

// What a kString parameter names, if anything: the scenario reader checks that it exists. A queue
// is named "FIXTURE:INDEX".
enum class ParamRef : uint8_t { kNone, kJob, kQueue, kJobOrQueue, kPhase };

// The value of a kMetricValue parameter, in the base unit that its text named.
struct MetricValue {
  enum class Unit : uint8_t { kNone, kNanoseconds, kBytes, kFraction };
  double value = 0;
  Unit unit = Unit::kNone;
  bool operator==(const MetricValue&) const = default;
};

struct ParamSpec {
  std::string_view name;
  ParamType type = ParamType::kString;
  ParamShape shape = ParamShape::kOne;
  // As it would stand in the scenario, without quotes; elements of a list parted by commas. Empty:
  // there is no default, and the key is either required or absent.
  std::string_view default_text = {};
  bool required = false;
  // Inclusive bounds in the base unit (bytes, ns, fraction); for strings they are not used.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string_view choices = {};  // "none|mq-deadline|bfq"
  std::string_view help = {};     // one sentence, no full stop
  ParamRef refers = ParamRef::kNone;
};

using ParamValue =
    std::variant<bool, int64_t, double, std::string, MetricValue, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>>;

class ParamValues {
 public:
  void Set(std::string_view name, ParamValue value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  bool Has(std::string_view name) const { return values_.find(name) != values_.end(); }

  // The value; CHECK-fails when absent or of another type (the table is the contract).
  bool Bool(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  double Number(std::string_view name) const;
  const std::string& String(std::string_view name) const;
  const MetricValue& Metric(std::string_view name) const;
  // Lists: a kOneOrList value that was given as one is a list of one.
  const std::vector<int64_t>& Ints(std::string_view name) const;
  const std::vector<double>& Numbers(std::string_view name) const;
  const std::vector<std::string>& Strings(std::string_view name) const;

  // Element i of a kOneOrList parameter: a single value stands for every i.
  int64_t IntAt(std::string_view name, size_t i) const;
  const std::string& StringAt(std::string_view name, size_t i) const;

  const std::map<std::string, ParamValue, std::less<>>& all() const { return values_; }
  bool operator==(const ParamValues&) const = default;

 private:
  const ParamValue& Get(std::string_view name) const;
  std::map<std::string, ParamValue, std::less<>> values_;
};

}  // namespace blkfair
