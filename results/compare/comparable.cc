#include "results/compare/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

std::string OccupancySourceOf(const Record& record) {
  for (const PhaseRecord& phase : record.phases) {
    for (const QueueRecord& queue : phase.queues) {
      if (queue.occupancy) return queue.occupancy->source;
    }
  }
  return "none";
}

}  // namespace

std::vector<std::string> DifferencesThatMatter(const Record& a, const Record& b,
                                               const CompareOptions& options) {
  std::vector<std::string> differences;
  CompareScenarios(a, b, options, &differences);
  const auto same = [&](std::string_view what, const std::string& left, const std::string& right) {
    if (left == right) return;
    differences.push_back(fmt::format("{} differs: {}, {}", what, left, right));
  };
  same("the executor", a.environment.executor, b.environment.executor);
  same("the kind of time", a.environment.time, b.environment.time);
  same("the number of CPUs", std::to_string(a.environment.cpus),
       std::to_string(b.environment.cpus));
  same("the clock", a.environment.clock, b.environment.clock);
  same("the source of tag occupancy", OccupancySourceOf(a), OccupancySourceOf(b));
  if (!options.kernels_differ) {
    same("the kernel", a.environment.kernel_release + " " + a.environment.kernel_version,
         b.environment.kernel_release + " " + b.environment.kernel_version);
  }
  // What a declared key is about may differ in depth.
  for (const FixtureRecord& fixture : a.fixtures) {
    const FixtureRecord* other = b.FindFixture(fixture.name);
    const std::string prefix = "fixture." + fixture.name + ".";
    const bool declared =
        std::any_of(options.declared.begin(), options.declared.end(),
                    [&](const std::string& key) { return key.starts_with(prefix); });
    if (other == nullptr || declared) continue;
    same("the number of tags of " + fixture.name, std::to_string(fixture.nr_tags),
         std::to_string(other->nr_tags));
    same("the number of hardware queues of " + fixture.name, std::to_string(fixture.nr_hw_queues),
         std::to_string(other->nr_hw_queues));
  }
  return differences;
}

}  // namespace blkfair
