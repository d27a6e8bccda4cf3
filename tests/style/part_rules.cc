#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "tests/style/rules.h"

namespace blkfair::style {
namespace {

// A kind of part that is one file and one token in a table.
struct PartKind {
  std::string_view suffix;  // of its files
  std::string_view table;
  std::string_view info;  // k<Name><info> is the token
};
constexpr PartKind kPartKinds[] = {
    {"_engine.cc", "engines/engine_table.cc", "EngineInfo"},
    {"_fixture.cc", "kmod_setup/fixture_table.cc", "FixtureInfo"},
    {"_assertion.cc", "results/fairness/assertion_table.cc", "AssertionInfo"},
};

// "engines/io_uring_engine.cc" with the suffix "_engine.cc" is "IoUring".
std::string CamelName(std::string_view path, std::string_view suffix) {
  const size_t begin = path.rfind('/') + 1;
  std::string name;
  bool upper = true;
  for (const char c : path.substr(begin, path.size() - suffix.size() - begin)) {
    if (c != '_') {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    }
    upper = c == '_';
  }
  return name;
}

const SourceFile* Find(Files files, std::string_view path) {
  const auto it = std::find_if(files.begin(), files.end(),
                               [&](const SourceFile& file) { return file.path == path; });
  return it == files.end() ? nullptr : &*it;
}

// The key of a line "key = value", if it is one.
std::optional<std::string_view> KeyOf(std::string_view line) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = line.substr(0, line.find_first_of(" ="));
  return key.empty() ? std::nullopt : std::optional(key);
}

// The keys that stand before the first table, in order.
std::vector<std::string_view> OpeningKeys(std::string_view toml) {
  std::vector<std::string_view> keys;
  bool in_text = false;  // inside """ ... """
  for (const std::string_view line : Lines(toml)) {
    const size_t quotes = line.find("\"\"\"");
    const bool toggles = quotes != std::string_view::npos &&
                         line.find("\"\"\"", quotes + 3) == std::string_view::npos;
    if (!in_text && line.starts_with('[')) break;
    if (!in_text && !line.starts_with('#')) {
      if (const auto key = KeyOf(line)) keys.push_back(*key);
    }
    if (toggles) in_text = !in_text;
  }
  return keys;
}

// What may not stand between the start barrier and the drain (README, rules of the hot loop).
struct HotWord {
  std::string_view word;
  std::string_view why;
};
// Anywhere in a file of the hot path.
constexpr HotWord kHotFileWords[] = {
    {"std::function", "costs more than the I/O: use a virtual call per batch"},
    {"std::mutex", "one thread owns one job"},
    {"std::lock_guard", "one thread owns one job"},
    {"std::condition_variable", "one thread owns one job"},
    {"throw", "errors are returned"},
    {"malloc", "use a vector, sized before the barrier"},
    {"new", "use make_unique, before the barrier"},
    {"std::cerr", "the loop never prints"},
    {"printf", "the loop never prints"},
};
// In the functions that run between barrier and drain.
constexpr HotWord kHotBodyWords[] = {
    {"std::string", "allocates"},
    {"std::vector", "allocates"},
    {"std::map", "allocates"},
    {"make_unique", "allocates"},
    {"push_back", "may allocate"},
    {"emplace_back", "may allocate"},
    {"resize", "may allocate"},
    {"reserve", "allocates"},
    {"fmt::format", "allocates"},
    {"Fail", "builds a message: return -errno"},
    {"FailErrno", "builds a message: return -errno"},
};
// An engine never reads a clock: the job loop stamps.
constexpr HotWord kEngineWords[] = {
    {"clock_gettime", "the job loop stamps, an engine never does"},
    {"NowNs", "the job loop stamps, an engine never does"},
    {"std::chrono", "the job loop stamps, an engine never does"},
};
constexpr std::array<std::string_view, 2> kEngineBodies = {"Submit", "Reap"};
constexpr std::array<std::string_view, 8> kLoopBodies = {
    "Submit", "MakeBatch", "SubmitPending", "Refuse", "Drain", "NextNeed", "Reap", "CompleteBatch"};

void FindWords(const SourceFile& file, std::string_view code, size_t first_line,
               std::span<const HotWord> words, Findings& findings) {
  for (const HotWord& word : words) {
    for (const size_t at : FindToken(code, word.word)) {
      findings.push_back({file.path, first_line + LineAt(code, at) - 1,
                          std::string(word.word) + " on the hot path: " + std::string(word.why)});
    }
  }
}

}  // namespace

Findings PartsInTables(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.path.starts_with("tests/")) continue;
    for (const PartKind& kind : kPartKinds) {
      if (!file.path.ends_with(kind.suffix)) continue;
      const SourceFile* table = Find(files, kind.table);
      const std::string name = CamelName(file.path, kind.suffix);
      const std::string token = "k" + name + std::string(kind.info);
      if (table == nullptr) {
        findings.push_back({file.path, 0, "its table is missing: " + std::string(kind.table)});
        continue;
      }
      const std::string code = CodeOnly(table->text);
      if (!FindToken(code, token).empty() || !FindToken(code, name).empty()) continue;
      findings.push_back(
          {file.path, 0, "is not in its table: add " + token + " to " + table->path});
    }
  }
  return findings;
}

Findings ScenarioOpening(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("scenarios/") || !file.path.ends_with(".toml")) continue;
    const std::vector<std::string_view> keys = OpeningKeys(file.text);
    const std::vector<std::string_view> expected = {"name", "situation", "expectation", "why"};
    if (keys.size() >= expected.size() &&
        std::equal(expected.begin(), expected.end(), keys.begin())) {
      continue;
    }
    findings.push_back(
        {file.path, 1,
         "a scenario opens with name, situation, expectation and why, in this order"});
  }
  return findings;
}

Findings HotPath(Files files) {
  Findings findings;
  for (const SourceFile& file : files) {
    const bool engine = file.path.starts_with("engines/") && file.path.ends_with(".cc");
    const bool loop = file.path.starts_with("harness/run/job_loop");
    const bool simulated = file.path.starts_with("engines/sim_");  // its time is no clock
    if (!engine && !loop) continue;
    const std::string code = CodeOnly(file.text);
    FindWords(file, code, 1, kHotFileWords, findings);
    if (engine && !simulated) FindWords(file, code, 1, kEngineWords, findings);
    const auto bodies =
        engine ? FunctionBodies(code, kEngineBodies) : FunctionBodies(code, kLoopBodies);
    for (const Body& body : bodies) {
      FindWords(file, body.code, body.line, kHotBodyWords, findings);
    }
    // A rule that looks at nothing is no rule.
    if (bodies.empty() && file.path == "harness/run/job_loop_steps.h") {
      findings.push_back({file.path, 0, "the hot functions have other names: tell this rule"});
    }
  }
  return findings;
}

}  // namespace blkfair::style
