#include <algorithm>
#include <map>
#include <set>

#include "tests/style/rules.h"

namespace blkfair::style {
namespace {

// A room of the house, and the rooms (or single headers: a room's public face) it may include.
// The rooms stand bottom up, so that an arrow can only point to a row above its own.
struct Room {
  std::string_view prefix;
  std::vector<std::string_view> may_include;
};

const std::vector<Room>& Rooms() {
  static const std::vector<Room> rooms = {
      {"base/", {}},
      {"scenarios/language/", {"base/"}},
      {"engines/", {"base/"}},
      {"kmod_setup/", {"base/"}},
      {"results/", {"base/", "scenarios/language/"}},
      {"harness/measure/", {"base/", "scenarios/language/", "engines/", "kmod_setup/", "results/"}},
      {"harness/run/",
       {"base/", "scenarios/language/", "engines/", "kmod_setup/", "results/", "harness/measure/"}},
      {"harness/guest/",
       {"base/", "scenarios/language/", "engines/", "kmod_setup/", "results/", "harness/run/run.h",
        "harness/run/catalog.h", "harness/run/version.h"}},
      {"harness/kernels/", {"base/", "results/", "harness/guest/"}},
      {"harness/cli/",
       {"base/", "scenarios/language/", "engines/", "kmod_setup/", "results/", "harness/"}},
  };
  return rooms;
}

const Room* RoomOf(std::string_view path) {
  for (const Room& room : Rooms()) {
    if (path.starts_with(room.prefix)) return &room;
  }
  return nullptr;
}

// A third-party header, where it may be included, and in how many files there.
struct Confined {
  std::string_view header;               // prefix of what stands between the brackets
  std::vector<std::string_view> places;  // prefixes of paths
  size_t files_max;
  bool in_headers;  // whether a header of ours may include it
};

constexpr size_t kAnyNumber = 1'000'000;

const std::vector<Confined>& ConfinedHeaders() {
  static const std::vector<Confined> headers = {
      {"toml++/", {"scenarios/language/"}, 1, false},
      {"libaio.h", {"engines/"}, 1, false},
      {"liburing.h", {"engines/"}, 1, true},
      {"nlohmann/", {"results/"}, kAnyNumber, false},
      {"libnvme.h", {"engines/nvme", "kmod_setup/nvme", "kmod_setup/libnvme"}, kAnyNumber, false},
      {"libkmod.h", {"kmod_setup/", "harness/guest/"}, 2, false},
      {"archive", {"harness/guest/"}, 2, false},
      {"sha256.h", {"base/"}, 1, false},
      {"CLI/", {"harness/cli/"}, kAnyNumber, true},
      {"fmt/", {""}, kAnyNumber, false},
      {"tl/", {"base/result.h", "scenarios/language/"}, kAnyNumber, true},
      {"gtest/", {"tests/"}, kAnyNumber, true},
      {"gmock/", {"tests/"}, kAnyNumber, true},
  };
  return headers;
}

bool IsCpp(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h"); }
bool StartsWithAny(std::string_view path, const std::vector<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return path.starts_with(prefix); });
}

void CheckConfined(const SourceFile& file, const Include& include, const Confined& confined,
                   std::set<std::string>& places, Findings& findings) {
  const bool test = file.path.starts_with("tests/");
  const std::string header = "<" + include.path + ">";
  if (!test && !StartsWithAny(file.path, confined.places)) {
    findings.push_back({file.path, include.line, header + " has its place elsewhere in the tree"});
  }
  if (!test && file.path.ends_with(".h") && !confined.in_headers) {
    findings.push_back({file.path, include.line,
                        header + " is slow to compile or leaks: include it in a .cc file"});
  }
  if (!test) places.insert(file.path);
  if (places.size() > confined.files_max) {
    findings.push_back({file.path, include.line,
                        header + " is included in more than " + std::to_string(confined.files_max) +
                            " file(s): use the one there is"});
  }
}

}  // namespace

Findings IncludeArrows(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path) || file.path.starts_with("tests/")) continue;
    const Room* room = RoomOf(file.path);
    if (room == nullptr) {
      findings.push_back({file.path, 0, "is in no room of the house (README, map of the tree)"});
      continue;
    }
    for (const Include& include : Includes(file.text)) {
      if (!include.quoted) continue;
      if (include.path.starts_with(room->prefix)) continue;
      if (StartsWithAny(include.path, room->may_include)) continue;
      findings.push_back({file.path, include.line,
                          std::string(room->prefix) + " may not include " + include.path});
    }
  }
  return findings;
}

Findings ThirdPartyHeaders(Files files) {
  Findings findings;
  std::map<std::string_view, std::set<std::string>> places;
  for (const SourceFile& file : files) {
    if (!IsCpp(file.path)) continue;
    for (const Include& include : Includes(file.text)) {
      for (const Confined& confined : ConfinedHeaders()) {
        if (!include.path.starts_with(confined.header)) continue;
        if (include.quoted) {
          findings.push_back({file.path, include.line, "third-party headers go in angle brackets"});
        }
        CheckConfined(file, include, confined, places[confined.header], findings);
      }
    }
  }
  return findings;
}

}  // namespace blkfair::style
