#include "results/compare/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace blkfair {

namespace {

// The lines of a canonical scenario as "fixture.pair.depth" -> "64". Canonical text has one key to
// a line, tables in a fixed order, and each table's name first among its keys.
std::map<std::string, std::string> KeysOf(const std::string& canonical_toml) {
  std::map<std::string, std::string> keys;
  std::istringstream lines(canonical_toml);
  std::string table;
  std::string prefix;
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[")) {
      table = line.substr(line.find_first_not_of('['));
      table = table.substr(0, table.find(']'));
      prefix = table + ".";
      continue;
    }
    const size_t equals = line.find(" = ");
    if (equals == std::string::npos) {
      if (!last.empty()) keys[last] += "\n" + line;  // a text on several lines
      continue;
    }
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 3);
    if (key == "name" && !table.empty()) {
      std::string name = value;
      std::erase(name, '"');
      prefix = table + "." + name + ".";
    }
    last = prefix + key;
    keys[last] = value;
  }
  return keys;
}

void CompareScenarios(const Record& a, const Record& b, const CompareOptions& options,
                      std::vector<std::string>* differences) {
  const auto left = KeysOf(a.scenario_toml);
  const auto right = KeysOf(b.scenario_toml);
  const auto allowed = [&](const std::string& key) {
    return key == "repeat" || std::find(options.declared.begin(), options.declared.end(), key) !=
                                  options.declared.end();
  };
  const auto of = [](const auto& keys, const std::string& key) {
    const auto it = keys.find(key);
    return it == keys.end() ? std::string("absent") : it->second;
  };
  std::map<std::string, std::string> all = left;
  all.insert(right.begin(), right.end());
  for (const auto& [key, unused] : all) {
    if (allowed(key) || of(left, key) == of(right, key)) continue;
    differences->push_back(
        fmt::format("the scenarios differ in {}: {}, {}", key, of(left, key), of(right, key)));
  }
}

// What an audit finding that differs between the sides means.
enum class Weight : uint8_t {
  kNone,     // it differs from run to run, and its warning says what there is to say
  kWarning,  // it came with what was declared to differ
  kRefusal,
};

Weight WeightOf(const std::string& name, const CompareOptions& options) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is({"load", "memory"})) return Weight::kNone;
  if (is({"kasan", "kcsan", "lockdep", "governor", "accelerator"})) return Weight::kRefusal;
  if (options.kernels_differ) return Weight::kWarning;
  const std::string fixture = "fixture." + name.substr(0, name.find('.') + 1);
  for (const std::string& key : options.declared) {
    if (key == "fixture." + name) return Weight::kNone;
    if (key.starts_with(fixture)) return Weight::kWarning;
  }
  return Weight::kRefusal;
}

// By name. Under virtual time the machine of a guest changes nothing.
std::map<std::string, std::string> AuditOf(const Record& record) {
  std::map<std::string, std::string> values;
  for (const AuditFinding& finding : record.environment.audit) {
    values[finding.name] = finding.value;
  }
  if (record.environment.time != "real") return values;
  for (const AuditFinding& finding : record.host.audit) values[finding.name] = finding.value;
  return values;
}

std::vector<std::string> AuditDifferences(const Record& a, const Record& b,
                                          const CompareOptions& options, Weight weight) {
  const auto left = AuditOf(a);
  const auto right = AuditOf(b);
  const auto of = [](const auto& values, const std::string& name) {
    const auto it = values.find(name);
    return it == values.end() ? std::string("not known") : it->second;
  };
  std::map<std::string, std::string> all = left;
  all.insert(right.begin(), right.end());
  std::vector<std::string> differences;
  for (const auto& [name, unused] : all) {
    if (of(left, name) == of(right, name) || WeightOf(name, options) != weight) continue;
    differences.push_back(
        fmt::format("the audits differ in {}: {}, {}", name, of(left, name), of(right, name)));
  }
  return differences;
}

std::set<std::string> WarningsOf(std::span<const Record> side) {
  std::set<std::string> warnings;
  std::set<std::string> seen;  // one sentence for each finding is enough
  for (const Record& record : side) {
    for (const auto* audit : {&record.environment.audit, &record.host.audit}) {
      for (const AuditFinding& finding : *audit) {
        if (finding.warning.empty() || !seen.insert(finding.name).second) continue;
        warnings.insert(finding.warning);
      }
    }
  }
  return warnings;
}

void AddIfOther(const std::string& what, const std::string& left, const std::string& right,
                std::vector<std::string>* differences) {
  if (left != right) differences->push_back(fmt::format("{} differs: {}, {}", what, left, right));
}

std::string OccupancySourceOf(const Record& record) {
  for (const PhaseRecord& phase : record.phases) {
    for (const QueueRecord& queue : phase.queues) {
      if (queue.occupancy) return queue.occupancy->source;
    }
  }
  return "none";
}

}  // namespace

std::vector<std::string> MachineDifferences(const Record& a, const Record& b,
                                            const CompareOptions& options) {
  std::vector<std::string> differences;
  AddIfOther("the executor", a.environment.executor, b.environment.executor, &differences);
  AddIfOther("the kind of time", a.environment.time, b.environment.time, &differences);
  AddIfOther("the number of CPUs", std::to_string(a.environment.cpus),
             std::to_string(b.environment.cpus), &differences);
  AddIfOther("the clock", a.environment.clock, b.environment.clock, &differences);
  if (!options.kernels_differ) {
    AddIfOther("the kernel", a.environment.kernel_release + " " + a.environment.kernel_version,
               b.environment.kernel_release + " " + b.environment.kernel_version, &differences);
  }
  for (std::string& difference : AuditDifferences(a, b, options, Weight::kRefusal)) {
    differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<std::string> DifferencesThatMatter(const Record& a, const Record& b,
                                               const CompareOptions& options) {
  std::vector<std::string> differences;
  CompareScenarios(a, b, options, &differences);
  for (std::string& difference : MachineDifferences(a, b, options)) {
    differences.push_back(std::move(difference));
  }
  AddIfOther("the source of tag occupancy", OccupancySourceOf(a), OccupancySourceOf(b),
             &differences);
  // What a declared key is about may differ in depth.
  for (const FixtureRecord& fixture : a.fixtures) {
    const FixtureRecord* other = b.FindFixture(fixture.name);
    const std::string prefix = "fixture." + fixture.name + ".";
    const bool declared =
        std::any_of(options.declared.begin(), options.declared.end(),
                    [&](const std::string& key) { return key.starts_with(prefix); });
    if (other == nullptr || declared) continue;
    AddIfOther("the number of tags of " + fixture.name, std::to_string(fixture.nr_tags),
               std::to_string(other->nr_tags), &differences);
    AddIfOther("the number of hardware queues of " + fixture.name,
               std::to_string(fixture.nr_hw_queues), std::to_string(other->nr_hw_queues),
               &differences);
  }
  return differences;
}

std::vector<std::string> AuditWarnings(std::span<const Record> a, std::span<const Record> b,
                                       const CompareOptions& options) {
  std::vector<std::string> warnings =
      AuditDifferences(a.front(), b.front(), options, Weight::kWarning);
  const std::set<std::string> left = WarningsOf(a);
  const std::set<std::string> right = WarningsOf(b);
  std::set<std::string> all = left;
  all.insert(right.begin(), right.end());
  for (const std::string& warning : all) {
    const char* side = !right.contains(warning) ? "A: " : !left.contains(warning) ? "B: " : "";
    warnings.push_back(side + warning);
  }
  return warnings;
}

}  // namespace blkfair
