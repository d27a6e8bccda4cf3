// Fuzz target of the scenario reader, for libFuzzer. Whatever the bytes are, reading them must end
// in a scenario or in problems that each have a place; and a scenario must survive its canonical
// form. The first line may hold overrides: "#set KEY=VALUE KEY=VALUE".
//
// With clang:  clang++ -fsanitize=fuzzer,address,undefined ...; without libFuzzer, replay_main.cc
// runs it over the files of a corpus folder.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"
#include "tests/support/fake_catalog.h"

namespace blkfair {
namespace {

std::vector<Override> OverridesIn(std::string_view text) {
  constexpr std::string_view kMark = "#set ";
  std::vector<Override> overrides;
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.substr(0, kMark.size()) != kMark) return overrides;
  line.remove_prefix(kMark.size());
  while (!line.empty()) {
    const size_t end = line.find(' ');
    overrides.emplace_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return overrides;
}

void CheckReading(std::string_view text) {
  const Catalog catalog = FakeCatalog();
  const std::vector<Override> overrides = OverridesIn(text);
  const auto scenario = ParseScenario(text, "fuzz.toml", catalog, overrides);
  if (!scenario) {
    CHECK(!scenario.error().empty());
    for (const Diagnostic& diagnostic : scenario.error()) {
      CHECK(diagnostic.line > 0 || diagnostic.file.substr(0, 6) == "--set ");
      CHECK(!diagnostic.message.empty());
      CHECK(diagnostic.ToString().find('\n') == std::string::npos);
    }
    return;
  }
  const std::string canonical = CanonicalToml(*scenario, catalog);
  const auto again = ParseScenario(canonical, "canonical.toml", catalog, {});
  CHECK(again.has_value());
  CHECK(*again == *scenario);
  CHECK(CanonicalToml(*again, catalog) == canonical);
}

}  // namespace
}  // namespace blkfair

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  blkfair::CheckReading(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
