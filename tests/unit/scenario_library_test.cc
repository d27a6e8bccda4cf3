// The real parts and the shipped scenarios, as the scenario language sees them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "harness/run/catalog.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"
#include "scenarios/language/reference.h"

namespace blkfair {
namespace {

TEST(ScenarioLibrary, ThePartsPublishSoundTables) {
  EXPECT_EQ(CatalogFaults(TheCatalog()), std::vector<std::string>());
}

TEST(ScenarioLibrary, EveryShippedScenarioReadsAndKeepsItsCanonicalForm) {
  size_t scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BLKFAIR_SCENARIOS)) {
    if (entry.path().extension() != ".toml") continue;
    scenarios++;
    const auto scenario = ReadScenarioFile(entry.path().string(), TheCatalog(), {});
    if (!scenario) {
      for (const Diagnostic& diagnostic : scenario.error()) ADD_FAILURE() << diagnostic.ToString();
      continue;
    }
    EXPECT_EQ(scenario->name, entry.path().stem().string());
    EXPECT_FALSE(scenario->asserts.empty()) << "nothing would be judged in " << entry.path();
    const std::string canonical = CanonicalToml(*scenario, TheCatalog());
    const auto again = ParseScenario(canonical, "canonical", TheCatalog(), {});
    ASSERT_TRUE(again.has_value()) << again.error()[0].ToString();
    EXPECT_TRUE(*again == *scenario) << entry.path();
    EXPECT_EQ(CanonicalToml(*again, TheCatalog()), canonical);
  }
  EXPECT_GE(scenarios, 6u);
}

TEST(ScenarioLibrary, AssertionThatCannotBeJudgedIsReportedWhereItStands) {
  const auto text = ReadWholeFile(BLKFAIR_SCENARIOS "/lopsided_null_blk.toml");
  ASSERT_TRUE(text) << text.error().message;
  const std::string lost =
      *text +
      "\n[[assert]]\nname = \"lost\"\nkind = \"gap\"\nphase = \"solo_heavy\"\njob = "
      "\"light\"\nmax = \"1s\"\n";
  const auto line = std::count(text->begin(), text->end(), '\n') + 2;
  const auto scenario = ParseScenario(lost, "lost.toml", TheCatalog(), {});
  ASSERT_FALSE(scenario.has_value());
  ASSERT_EQ(scenario.error().size(), 1U);
  EXPECT_EQ(scenario.error()[0].ToString(),
            "lost.toml:" + std::to_string(line) +
                ":1: assertion \"lost\": light has no part in phase solo_heavy");
}

TEST(ScenarioLibrary, KeyReferenceIsTheOneThatThePartsPublish) {
  const std::string path = BLKFAIR_SCENARIOS "/README.md";
  const auto text = ReadWholeFile(path);
  ASSERT_TRUE(text) << text.error().message;
  const size_t at = text->find("## Key reference\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text->substr(at), KeyReferenceMarkdown(TheCatalog()))
      << "write it anew: everything from '## Key reference' on is what `blkfair list --markdown` "
         "prints";
}

}  // namespace
}  // namespace blkfair
