#include "scenarios/language/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "scenarios/language/decode.h"
#include "scenarios/language/keys.h"

namespace blkfair {

namespace {

constexpr size_t kMaxNameBytes = 64;

constexpr std::string_view kOverrideForms =
    "write KEY=VALUE, guest.KEY=VALUE, or fixture|job|phase|assert.NAME.KEY=VALUE, such as "
    "job.heavy.iodepth=64";

void ShapeTableArray(std::string_view name, Node* root, Problems* problems) {
  NodeEntry* entry = root->Find(name);
  if (entry == nullptr) return;
  Node& value = entry->value;
  if (value.IsTable()) {
    problems->Add(value.place, fmt::format("write [[{0}]], not [{0}]: there may be several", name));
    Node table = std::move(value);
    value = Node::Empty(Node::Kind::kArray, table.place);
    value.items.push_back(std::move(table));
    return;
  }
  if (!value.IsArray()) {
    problems->Add(value.place, fmt::format("{0} must be a table: write [[{0}]] above its keys, not "
                                           "{1}",
                                           name, KindName(value.kind)));
    value = Node::Empty(Node::Kind::kArray, value.place);
    return;
  }
  for (const Node& item : value.items) {
    if (item.IsTable()) continue;
    problems->Add(item.place, fmt::format("{0} must hold tables only: write [[{0}]] above the keys "
                                          "of each",
                                          name));
  }
  std::erase_if(value.items, [](const Node& item) { return !item.IsTable(); });
  if (value.items.size() > kMaxTables) {
    problems->Add(value.items[kMaxTables].place,
                  fmt::format("more than {} [[{}]] tables", kMaxTables, name));
    value.items.resize(kMaxTables);
  }
}

void ShapeGuest(Node* root, Problems* problems) {
  const NodeEntry* entry = root->Find("guest");
  if (entry == nullptr || entry->value.IsTable()) return;
  problems->Add(entry->value.place, "guest must be one table: write [guest] above its keys");
  root->Remove("guest");
}

// "slowdown", then "slowdown_2" and so on: whatever no other assertion is called.
void NameAssertions(std::vector<Node>* asserts) {
  std::set<std::string, std::less<>> taken;
  for (const Node& table : *asserts) {
    if (const std::string* name = table.FindText("name")) taken.insert(*name);
  }
  for (Node& table : *asserts) {
    const std::string* kind = table.FindText("kind");
    if (table.Find("name") != nullptr || kind == nullptr || !IsName(*kind)) continue;
    std::string name = *kind;
    for (int i = 2; taken.count(name) > 0; i++) name = fmt::format("{}_{}", *kind, i);
    taken.insert(name);
    table.Set("name", table.place, Node::Text(name, table.place));
  }
}

const ParamSpec& SoloSpec() {
  const auto keys = PhaseKeys();
  return *std::find_if(keys.begin(), keys.end(),
                       [](const ParamSpec& spec) { return spec.name == "solo"; });
}

// One phase for each job that the `solo` list of `table` names.
std::vector<Node> SoloPhases(const Node& table) {
  std::vector<Node> phases;
  Node common = table;
  for (const std::string_view key : {"solo", "name", "jobs"}) common.Remove(key);
  for (const Node& job : table.Find("solo")->value.items) {
    Node phase = common;
    phase.Set("name", job.place, Node::Text(std::string(kSoloPrefix) + job.text, job.place));
    Node jobs = Node::Empty(Node::Kind::kArray, job.place);
    jobs.items.push_back(job);
    phase.Set("jobs", job.place, std::move(jobs));
    phases.push_back(std::move(phase));
    if (phases.size() > kMaxTables) break;
  }
  return phases;
}

bool ExpandSolo(std::vector<Node>* phases, Problems* problems) {
  bool complete = true;
  std::vector<Node> expanded;
  for (Node& table : *phases) {
    if (expanded.size() > kMaxTables) break;
    const NodeEntry* solo = table.Find("solo");
    if (solo == nullptr) {
      expanded.push_back(std::move(table));
      continue;
    }
    if (table.Find("name") != nullptr || table.Find("jobs") != nullptr) {
      problems->Add(solo->place, "solo stands instead of name and jobs: keep one or the other");
    }
    if (!DecodeTable(table, std::span(&SoloSpec(), 1), problems).Has("solo")) {
      complete = false;
      continue;
    }
    for (Node& phase : SoloPhases(table)) expanded.push_back(std::move(phase));
  }
  if (expanded.size() > kMaxTables) {
    problems->Add(expanded[kMaxTables].place, fmt::format("more than {} phases", kMaxTables));
    expanded.resize(kMaxTables);
    complete = false;
  }
  *phases = std::move(expanded);
  return complete;
}

struct OverrideTarget {
  Node* table = nullptr;
  std::string_view key;
};

// The table and key that "job.heavy.iodepth" stands for, or a message.
tl::expected<OverrideTarget, std::string> FindTarget(std::string_view path, const Place& place,
                                                     Node* root) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('.', start), path.size());
    parts.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  const auto array = std::find(std::begin(kTableArrays), std::end(kTableArrays), parts[0]);
  const bool is_table_array = array != std::end(kTableArrays);
  const bool has_names = array - std::begin(kTableArrays) < std::ptrdiff_t{kNamedTableArrays};
  if (parts.size() == 1 && !is_table_array && parts[0] != "guest") {
    return OverrideTarget{root, parts[0]};
  }
  if (parts.size() == 2 && parts[0] == "guest") {
    if (root->Find("guest") == nullptr)
      root->Set("guest", place, Node::Empty(Node::Kind::kTable, place));
    return OverrideTarget{&root->Find("guest")->value, parts[1]};
  }
  if (parts.size() != 3 || !has_names) {
    return tl::unexpected(fmt::format("{} names no key: {}", Quote(path), kOverrideForms));
  }
  if (parts[0] == "phase" && parts[2] == "solo") {
    return tl::unexpected<std::string>(
        "solo cannot be set: set the keys of the phases that it makes, such as "
        "phase.solo_NAME.ramp");
  }
  std::vector<std::string> names;
  if (NodeEntry* entry = root->Find(parts[0])) {
    for (Node& table : entry->value.items) {
      const std::string* name = table.FindText("name");
      if (name == nullptr) continue;
      if (*name == parts[1]) return OverrideTarget{&table, parts[2]};
      names.push_back(*name);
    }
  }
  return tl::unexpected(fmt::format("no {} {}{}", parts[0], Quote(parts[1]),
                                    Suggestion(parts[1], names, "there are")));
}

}  // namespace

bool IsName(std::string_view text) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kMaxNameBytes && is_alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '_' || c == '-'; });
}

bool ExpandScenario(Node* root, Problems* problems) {
  for (const std::string_view name : kTableArrays) ShapeTableArray(name, root, problems);
  ShapeGuest(root, problems);
  if (NodeEntry* asserts = root->Find("assert")) NameAssertions(&asserts->value.items);
  NodeEntry* phases = root->Find("phase");
  return phases == nullptr || ExpandSolo(&phases->value.items, problems);
}

void ApplyOverrides(Node* root, const std::vector<Override>& overrides, Problems* problems) {
  for (size_t i = 0; i < overrides.size(); i++) {
    const std::string_view text = overrides[i];
    const Place place{0, 0, static_cast<int>(i)};
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      problems->Add(place, fmt::format("lacks its value: {}", kOverrideForms));
      continue;
    }
    auto target = FindTarget(text.substr(0, equals), place, root);
    if (!target) {
      problems->Add(place, target.error());
      continue;
    }
    auto value = ParseOverrideValue(text.substr(equals + 1), place.override_index);
    if (!value) {
      problems->Add(place, value.error().message);
      continue;
    }
    target->table->Set(target->key, place, std::move(*value));
  }
}

}  // namespace blkfair
