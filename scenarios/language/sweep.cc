#include "scenarios/language/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "scenarios/language/checks.h"
#include "scenarios/language/expand.h"

namespace blkfair {

namespace {

constexpr std::string_view kJobPrefix = "job.";
// Bounds of what a hostile file can cost.
constexpr size_t kValuesMax = 1000;      // of one key
constexpr size_t kSettingsMax = 50'000;  // of all phases together

// One key of a sweep with the values that it takes, for one job or for all jobs of the phase.
struct Dimension {
  std::vector<std::string> paths;  // "job.NAME.KEY"
  Place key_place;
  std::vector<Node> values;
};

// Tables within tables are what TOML makes of dots without quotes.
void Flatten(const Node& table, const std::string& prefix, std::vector<NodeEntry>* out) {
  for (const NodeEntry& entry : table.entries) {
    const std::string path = prefix + entry.key;
    if (entry.value.IsTable()) {
      Flatten(entry.value, path + ".", out);
    } else {
      out->push_back({path, entry.place, entry.value});
    }
  }
}

// A value as a part of a phase's name.
std::string LabelOf(const Node& value) {
  std::string label;
  switch (value.kind) {
    case Node::Kind::kBool:
      return value.boolean ? "true" : "false";
    case Node::Kind::kInt:
      return fmt::format("{}", value.integer);
    case Node::Kind::kFloat:
      label = fmt::format("{}", value.real);
      break;
    case Node::Kind::kString:
      label = value.text;
      break;
    default:
      return "";
  }
  std::replace_if(
      label.begin(), label.end(), [](char c) { return !IsName(std::string("x") + c); }, '-');
  return label;
}

// Reads `set` and `sweep` of one phase.
class SettingsOf {
 public:
  SettingsOf(const Node& phase, Problems* problems) : phase_(phase), problems_(*problems) {
    const NodeEntry* jobs = phase.Find("jobs");
    if (jobs == nullptr) return;
    for (const Node& job : jobs->value.items) {
      if (job.IsString()) jobs_.push_back(job.text);
    }
  }

  // One dimension for each key of `set` or `sweep` (`what`), with a single value each for `set`.
  // Empty when there is none, or one with a fault.
  std::vector<Dimension> Read(std::string_view what) {
    const NodeEntry* entry = phase_.Find(what);
    if (entry == nullptr) return {};
    const size_t before = problems_.count();
    std::vector<Dimension> dimensions;
    if (!entry->value.IsTable()) {
      problems_.Add(entry->value.place,
                    fmt::format("{} must be a table such as {}, not {}", what,
                                what == "set" ? "{ \"job.reader.iodepth\" = 4 }"
                                              : "{ \"job.reader.iodepth\" = [1, 4, 16] }",
                                KindName(entry->value.kind)));
      return {};
    }
    std::vector<NodeEntry> entries;
    Flatten(entry->value, "", &entries);
    if (entries.empty()) {
      problems_.Add(entry->value.place, fmt::format("{} must not be empty", what));
    }
    for (const NodeEntry& each : entries) {
      Dimension dimension{PathsOf(each, what), each.place, {}};
      for (const std::string& path : dimension.paths) NoteUse(path, each.place);
      if (what == "set") {
        dimension.values.push_back(each.value);
      } else {
        dimension.values = ValuesOf(each);
      }
      dimensions.push_back(std::move(dimension));
    }
    return problems_.count() > before ? std::vector<Dimension>() : dimensions;
  }

 private:
  std::vector<std::string> PathsOf(const NodeEntry& entry, std::string_view what) {
    std::vector<std::string> paths;
    std::string_view key = entry.key;
    if (key.find('.') == std::string_view::npos) {
      for (const std::string& job : jobs_) paths.push_back(fmt::format("job.{}.{}", job, key));
    } else {
      const std::vector<std::string_view> parts = Split(key);
      if (parts.size() != 3 || parts[0] != "job") {
        problems_.Add(entry.place,
                      fmt::format("{} takes keys of jobs, KEY or \"job.NAME.KEY\", not {}", what,
                                  Quote(key)));
        return {};
      }
      if (std::find(jobs_.begin(), jobs_.end(), parts[1]) == jobs_.end()) {
        problems_.Add(entry.place,
                      fmt::format("no job of this phase is named {}{}", Quote(parts[1]),
                                  Suggestion(parts[1], jobs_, "there are")));
        return {};
      }
      paths.emplace_back(key);
      key = parts[2];
    }
    if (key == "name") {
      problems_.Add(entry.place, "name cannot be set: a job has one name in all phases");
    }
    return paths;
  }

  static std::vector<std::string_view> Split(std::string_view path) {
    std::vector<std::string_view> parts;
    for (size_t start = 0; start <= path.size();) {
      const size_t end = std::min(path.find('.', start), path.size());
      parts.push_back(path.substr(start, end - start));
      start = end + 1;
    }
    return parts;
  }

  void NoteUse(const std::string& path, const Place& place) {
    if (std::find(used_.begin(), used_.end(), path) != used_.end()) {
      problems_.Add(place, fmt::format("{} is given twice for this phase", path));
    }
    used_.push_back(path);
  }

  // The values of a list, ranges written out.
  std::vector<Node> ValuesOf(const NodeEntry& entry) {
    std::vector<Node> values;
    const Node& list = entry.value;
    if (list.IsArray()) {
      for (const Node& item : list.items) {
        if (!AppendRange(item, &values)) values.push_back(item);
        if (values.size() <= kValuesMax) continue;
        problems_.Add(item.place, fmt::format("more than {} values of {}", kValuesMax, entry.key));
        break;
      }
      if (list.items.empty()) {
        problems_.Add(list.place, fmt::format("{} must not be empty", entry.key));
      }
    } else if (!AppendRange(list, &values)) {
      problems_.Add(list.place, fmt::format("{} takes a list of values, or a range such as "
                                            "\"32..1\", not {}",
                                            entry.key, KindName(list.kind)));
    }
    std::set<std::string> labels;
    for (const Node& value : values) {
      if (labels.insert(LabelOf(value)).second) continue;
      problems_.Add(value.place, fmt::format("{} has {} twice", entry.key, LabelOf(value)));
      break;
    }
    return values;
  }

  // "32..1": both ends and every whole number between them.
  bool AppendRange(const Node& node, std::vector<Node>* values) {
    if (!node.IsString()) return false;
    const size_t dots = node.text.find("..");
    if (dots == std::string::npos) return false;
    const std::optional<int64_t> first = Whole(std::string_view(node.text).substr(0, dots));
    const std::optional<int64_t> last = Whole(std::string_view(node.text).substr(dots + 2));
    if (!first || !last) return false;
    if (std::abs(*first - *last) >= static_cast<int64_t>(kValuesMax)) {
      problems_.Add(node.place,
                    fmt::format("{} has more than {} values", Quote(node.text), kValuesMax));
      return true;
    }
    const int64_t step = *first <= *last ? 1 : -1;
    for (int64_t value = *first;; value += step) {
      Node item = Node::Empty(Node::Kind::kInt, node.place);
      item.integer = value;
      values->push_back(std::move(item));
      if (value == *last) return true;
    }
  }

  static std::optional<int64_t> Whole(std::string_view text) {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  const Node& phase_;
  Problems& problems_;
  std::vector<std::string> jobs_;
  std::vector<std::string> used_;  // paths
};

void SetAll(const Dimension& dimension, const Node& value, Node* set) {
  for (const std::string& path : dimension.paths) set->Set(path, dimension.key_place, value);
}

// One phase for each combination, the last key changing first.
void AppendSteps(const Node& table, const std::vector<Dimension>& settings,
                 const std::vector<Dimension>& sweep, std::vector<Node>* out) {
  const NodeEntry& key = *table.Find("sweep");
  Node common = table;
  common.Remove("sweep");
  common.Remove("set");
  common.Set("sweep_of", key.place, Node::Text(*table.FindText("name"), key.place));
  std::vector<size_t> at(sweep.size(), 0);
  while (out->size() <= kMaxTables) {
    Node step = common;
    Node set = Node::Empty(Node::Kind::kTable, key.value.place);
    for (const Dimension& dimension : settings) SetAll(dimension, dimension.values[0], &set);
    std::string name = *table.FindText("name");
    Place place;
    for (size_t i = 0; i < sweep.size(); i++) {
      const Node& value = sweep[i].values[at[i]];
      SetAll(sweep[i], value, &set);
      name += "_" + LabelOf(value);
      place = value.place;
    }
    step.Set("name", place, Node::Text(std::move(name), place));
    step.Set("set", key.place, std::move(set));
    out->push_back(std::move(step));
    size_t turning = sweep.size();
    while (turning > 0 && ++at[turning - 1] == sweep[turning - 1].values.size()) {
      at[--turning] = 0;
    }
    if (turning == 0) return;
  }
}

void ExpandPhase(Node table, Problems* problems, std::vector<Node>* out) {
  SettingsOf reader(table, problems);
  const std::vector<Dimension> settings = reader.Read("set");
  const std::vector<Dimension> sweep = reader.Read("sweep");
  if (!sweep.empty() && table.FindText("name") != nullptr) {
    if (const NodeEntry* of = table.Find("sweep_of")) {
      problems->Add(of->place,
                    "sweep_of stands in the steps of a sweep: this phase is a whole one");
    }
    AppendSteps(table, settings, sweep, out);
    return;
  }
  table.Remove("sweep");
  const NodeEntry* entry = table.Find("set");
  if (entry != nullptr) {
    Node set = Node::Empty(Node::Kind::kTable, entry->value.place);
    for (const Dimension& dimension : settings) SetAll(dimension, dimension.values[0], &set);
    if (settings.empty()) {
      table.Remove("set");
    } else {
      table.Set("set", entry->place, std::move(set));
    }
  }
  out->push_back(std::move(table));
}

using Steps = std::map<std::string, std::vector<std::string>, std::less<>>;  // by sweep

Steps CollectSteps(const std::vector<Node>& phases, Problems* problems) {
  Steps steps;
  for (const Node& phase : phases) {
    const std::string* sweep = phase.FindText("sweep_of");
    const std::string* name = phase.FindText("name");
    if (sweep != nullptr && name != nullptr) steps[*sweep].push_back(*name);
  }
  for (const Node& phase : phases) {
    const std::string* name = phase.FindText("name");
    if (name == nullptr || steps.count(*name) == 0) continue;
    problems->Add(PlaceOfKey(phase, "name"),
                  fmt::format("a sweep is named {} too: names must differ", Quote(*name)));
  }
  return steps;
}

void AppendPhase(const Node& item, const Steps& steps, Node* list) {
  const auto sweep = item.IsString() ? steps.find(item.text) : steps.end();
  if (sweep == steps.end()) {
    list->items.push_back(item);
    return;
  }
  for (const std::string& step : sweep->second) list->items.push_back(Node::Text(step, item.place));
}

void NameSteps(const Steps& steps, Node* assertion) {
  const NodeEntry* one = assertion->Find("phase");
  const NodeEntry* several = assertion->Find("phases");
  if (one != nullptr && several == nullptr && one->value.IsString() &&
      steps.count(one->value.text) > 0) {
    Node list = Node::Empty(Node::Kind::kArray, one->value.place);
    AppendPhase(one->value, steps, &list);
    const Place place = one->place;
    assertion->Remove("phase");
    assertion->Set("phases", place, std::move(list));
  } else if (several != nullptr && several->value.IsArray()) {
    Node list = Node::Empty(Node::Kind::kArray, several->value.place);
    for (const Node& item : several->value.items) AppendPhase(item, steps, &list);
    assertion->Set("phases", several->place, std::move(list));
  }
}

}  // namespace

void ExpandSweeps(Node* root, Problems* problems) {
  NodeEntry* entry = root->Find("phase");
  if (entry == nullptr) return;
  std::vector<Node> phases;
  for (Node& table : entry->value.items) {
    if (phases.size() > kMaxTables) break;
    ExpandPhase(std::move(table), problems, &phases);
  }
  if (phases.size() > kMaxTables) {
    problems->Add(phases[kMaxTables].place, fmt::format("more than {} phases", kMaxTables));
    phases.resize(kMaxTables);
  }
  size_t settings = 0;
  for (Node& phase : phases) {
    const NodeEntry* set = phase.Find("set");
    settings += set == nullptr ? 0 : set->value.entries.size();
    if (settings > kSettingsMax) phase.Remove("set");
  }
  if (settings > kSettingsMax) {
    problems->Add(entry->place,
                  fmt::format("the phases set more than {} keys of jobs together", kSettingsMax));
  }
  const Steps steps = CollectSteps(phases, problems);
  entry->value.items = std::move(phases);
  if (NodeEntry* asserts = root->Find("assert")) {
    for (Node& table : asserts->value.items) NameSteps(steps, &table);
  }
}

SettingPath SplitSettingPath(std::string_view path) {
  CHECK(path.starts_with(kJobPrefix));
  const size_t dot = path.find('.', kJobPrefix.size());
  CHECK(dot != std::string_view::npos);
  return {path.substr(kJobPrefix.size(), dot - kJobPrefix.size()), path.substr(dot + 1)};
}

}  // namespace blkfair
