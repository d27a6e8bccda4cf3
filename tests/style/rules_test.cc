// Every rule is shown a text that breaks it and one that keeps it: a rule that finds nothing in the
// tree is worth something only if it can find something at all.
#include "tests/style/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace blkfair::style {
namespace {

struct Case {
  std::string_view rule;
  std::string_view what;
  std::vector<SourceFile> bad;
  std::vector<SourceFile> good;
};

std::string Repeat(std::string_view text, size_t times) {
  std::string repeated;
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

std::vector<Case> IncludeCases() {
  return {
      {"IncludeArrows",
       "base includes a room above it",
       {{"base/a.cc", "#include \"engines/engine.h\"\n"}},
       {{"base/a.cc", "#include \"base/fd.h\"\n"}}},
      {"IncludeArrows",
       "fixtures do not know engines",
       {{"kmod_setup/a.h", "#include \"engines/engine.h\"\n"}},
       {{"kmod_setup/a.h", "#include \"base/queue.h\"\n"}}},
      {"IncludeArrows",
       "results need no kernel",
       {{"results/fairness/a.cc", "#include \"kmod_setup/fixture.h\"\n"}},
       {{"results/fairness/a.cc", "#include \"scenarios/language/model.h\"\n"}}},
      {"IncludeArrows",
       "measure does not know run",
       {{"harness/measure/a.cc", "#include \"harness/run/run.h\"\n"}},
       {{"harness/run/a.cc", "#include \"harness/measure/occupancy.h\"\n"}}},
      {"IncludeArrows",
       "the guest sees only the public face of run",
       {{"harness/guest/a.cc", "#include \"harness/run/executor.h\"\n"}},
       {{"harness/guest/a.cc", "#include \"harness/run/run.h\"\n"}}},
      {"IncludeArrows",
       "nobody includes the command line",
       {{"harness/run/a.cc", "#include \"harness/cli/command.h\"\n"}},
       {{"harness/cli/a.cc", "#include \"harness/guest/guest.h\"\n"}}},
      {"IncludeArrows",
       "product code does not include tests",
       {{"engines/a.cc", "#include \"tests/support/fake.h\"\n"}},
       {{"tests/unit/a.cc", "#include \"engines/engine.h\"\n"}}},
      {"IncludeArrows", "a file in no room", {{"tools/a.cc", ""}}, {{"base/a.cc", ""}}},
      {"ThirdPartyHeaders",
       "a header out of its place",
       {{"harness/run/a.cc", "#include <toml++/toml.h>\n"}},
       {{"scenarios/language/a.cc", "#include <toml++/toml.h>\n"}}},
      {"ThirdPartyHeaders",
       "a second file with the same header",
       {{"engines/a.cc", "#include <libaio.h>\n"}, {"engines/b.cc", "#include <libaio.h>\n"}},
       {{"engines/a.cc", "#include <libaio.h>\n"}}},
      {"ThirdPartyHeaders",
       "a slow header in a header",
       {{"results/a.h", "#include <nlohmann/json.hpp>\n"}},
       {{"results/a.cc", "#include <nlohmann/json.hpp>\n"}}},
      {"ThirdPartyHeaders",
       "in quotes",
       {{"base/a.cc", "#include \"fmt/format.h\"\n"}},
       {{"base/a.cc", "#include <fmt/format.h>\n"}}},
  };
}

std::vector<Case> TextCases() {
  return {
      {"KernelPaths",
       "a path below the real root",
       {{"kmod_setup/a.cc", "f(\"/sys/block\");"}},
       {{"kmod_setup/a.cc", "f(roots.proc + \"/sys/vm\");  // \"/sys/block\""}}},
      {"KernelPaths",
       "the root itself",
       {{"harness/run/a.cc", "f(\"/proc\");"}},
       {{"base/kernel_fs.cc", "f(\"/proc\");"}}},
      {"BannedWords",
       "shared ownership",
       {{"base/a.h", "std::shared_ptr<int> p;"}},
       {{"base/a.h", "std::unique_ptr<int> p;  // not a shared_ptr"}}},
      {"BannedWords", "a raw close", {{"base/a.cc", "close(fd);"}}, {{"base/a.cc", "f.close();"}}},
      {"BannedWords",
       "a raw close from the global namespace",
       {{"base/a.cc", "  ::close(fd);"}},
       {{"base/fd.cc", "  ::close(fd);"}}},
      {"BannedWords", "a shell", {{"base/a.cc", "system(\"ls\");"}}, {{"base/a.cc", "system;"}}},
  };
}

std::vector<Case> LayoutCases() {
  return {
      {"HeaderOpening",
       "no opening comment",
       {{"base/a.h", "#pragma once\n"}},
       {{"base/a.h", "// What it is.\n#pragma once\n"}}},
      {"HeaderOpening",
       "no guard",
       {{"base/a.h", "// What it is.\n#ifndef A\n"}},
       {{"base/a.cc", "#include <cstdio>\n"}}},
      {"HeaderOpening",
       "an essay",
       {{"base/a.h", Repeat("// More.\n", 11) + "#pragma once\n"}},
       {{"base/a.h", Repeat("// More.\n", 10) + "#pragma once\n"}}},
      {"FileLength",
       "a long source",
       {{"base/a.cc", Repeat("\n", 601)}},
       {{"base/a.cc", Repeat("\n", 600)}}},
      {"FileLength",
       "a long header",
       {{"base/a.h", Repeat("\n", 301)}},
       {{"base/a.h", Repeat("\n", 300)}}},
      {"LineLength",
       "101 columns",
       {{"base/a.cc", Repeat("x", 101)}},
       {{"base/a.cc", Repeat("\u00e4", 100)}}},
      {"LineLength",
       "a script too",
       {{"dev", "#!/bin/sh\n" + Repeat("x", 101)}},
       {{"LICENSE", Repeat("x", 101)}}},
      {"OpenEnds",
       "nobody's job",
       {{"base/a.cc",
         "// TO"
         "DO: later"}},
       {{"base/a.cc",
         "// TO"
         "DO(12): later"}}},
      {"OpenEnds",
       "known to be broken",
       {{"dev",
         "# FIX"
         "ME"}},
       {{"dev", "# FIXED"}}},
      {"WorkplaceNames",
       "a path of the machine",
       {{"README.md",
         "see /wo"
         "rk/main/README.md"}},
       {{"README.md",
         "see $folder/wo"
         "rk/console.log"}}},
      {"TestNames",
       "an underscore in a name",
       {{"tests/unit/a_test.cc", "TEST(A, Does_it) {}"}},
       {{"tests/unit/a_test.cc", "TEST_F(A, DoesIt) { x_ = 1; }"}}},
      {"TestNames",
       "a test that is switched off",
       {{"tests/unit/a_test.cc", "TEST(A, DISABLED_DoesIt) {}"}},
       {{"tests/unit/a_test.cc", "TEST(A, DoesIt) { GTEST_SKIP() << why; }"}}},
  };
}

std::vector<Case> PartCases() {
  const SourceFile engines = {"engines/engine_table.cc", "&kIoUringEngineInfo, &kPsyncEngineInfo"};
  const SourceFile macro = {"kmod_setup/fixture_table.cc", "  X(NullBlk)"};
  return {
      {"PartsInTables",
       "an engine that nobody can name",
       {engines, {"engines/libaio_engine.cc", ""}},
       {engines, {"engines/io_uring_engine.cc", ""}}},
      {"PartsInTables",
       "only mentioned in a comment",
       {{"engines/engine_table.cc", "// kNullEngineInfo"}, {"engines/null_engine.cc", ""}},
       {{"engines/engine_table.cc", "kNullEngineInfo"}, {"engines/null_engine.cc", ""}}},
      {"PartsInTables",
       "no table at all",
       {{"kmod_setup/null_blk_fixture.cc", ""}},
       {macro, {"kmod_setup/null_blk_fixture.cc", ""}}},
      {"ScenarioOpening",
       "no reason given",
       {{"scenarios/a.toml", "name = \"a\"\nsituation = \"s\"\nexpectation = \"e\"\n[[job]]\n"}},
       {{"scenarios/a.toml",
         "# A.\nname = \"a\"\nsituation = \"\"\"\nx = y\n\"\"\"\nexpectation = \"e\"\nwhy = "
         "\"w\"\n"}}},
      {"ScenarioOpening",
       "reasons after the facts",
       {{"scenarios/a.toml",
         "name = \"a\"\n[[job]]\nsituation = \"s\"\nexpectation = \"e\"\nwhy = \"w\"\n"}},
       {{"tests/testdata/a.toml", "name = \"a\"\n"}}},
      {"HotPath",
       "a callback in an engine",
       {{"engines/null_engine.cc", "std::function<void()> done;"}},
       {{"engines/null_engine.cc", "// no std::function here\nauto p = std::make_unique<int>();"}}},
      {"HotPath",
       "an engine reads the clock",
       {{"engines/null_engine.cc", "clock.NowNs();"}},
       {{"harness/run/job_loop.cc", "clock.NowNs();"}}},
      {"HotPath",
       "an allocation per batch",
       {{"engines/a_engine.cc", "int E::Submit(int n) {\n  ops.push_back(n);\n}"}},
       {{"engines/a_engine.cc", "void E::Open() {\n  ops.push_back(1);\n}"}}},
      {"HotPath",
       "a lock in the job loop",
       {{"harness/run/job_loop.cc", "std::mutex mutex_;"}},
       {{"harness/run/thread_executor.h", "std::mutex mutex_;"}}},
  };
}

std::vector<Case> CaseCases() {
  const SourceFile list = {"tests/style/cases_with_tests.txt", "# a line of prose\nB2\n"};
  return {
      {"CasesHaveTests",
       "a case without a test",
       {list, {"tests/unit/a_test.cc", "TEST(A, DoesIt) {}"}},
       {list, {"tests/unit/a_test.cc", "TEST(A, B2DoesIt) {}"}}},
      {"CasesHaveTests",
       "only a longer id, or the right one in a comment",
       {list, {"tests/unit/a_test.cc", "TEST(A, B27DoesIt) {}  // B2"}},
       {list, {"tests/kernel/a_test.cc", "TEST_P(A, B27AndB2) {}"}}},
      {"CasesHaveTests",
       "no list",
       {{"tests/unit/a_test.cc", "TEST(A, B2DoesIt) {}"}},
       {list, {"tests/unit/a_test.cc", "TEST_F(AB2, DoesIt) {}"}}},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = IncludeCases();
  for (const auto& more : {TextCases(), LayoutCases(), CaseCases(), PartCases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

const Rule& RuleNamed(std::string_view name) {
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const Rule& rule) { return rule.name == name; });
}

TEST(StyleRules, FindWhatTheyAreFor) {
  for (const Case& c : AllCases()) {
    EXPECT_FALSE(RuleNamed(c.rule).check(c.bad).empty()) << c.rule << ": " << c.what;
  }
}

TEST(StyleRules, LeaveGoodTextAlone) {
  for (const Case& c : AllCases()) {
    for (const Finding& finding : RuleNamed(c.rule).check(c.good)) {
      ADD_FAILURE() << c.rule << ": not " << c.what << ": " << finding.ToString();
    }
  }
}

TEST(StyleRules, AreEachShownToFindSomething) {
  std::set<std::string_view> shown;
  for (const Case& c : AllCases()) shown.insert(c.rule);
  for (const Rule& rule : kRules) EXPECT_EQ(shown.count(rule.name), 1U) << rule.name;
}

TEST(StyleRules, NameFileAndLine) {
  const std::vector<SourceFile> files = {{"base/a.cc", "int a;\nclose(fd);\n"}};
  const Findings findings = BannedWords(files);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].ToString().substr(0, 12), "base/a.cc:2:");
}

}  // namespace
}  // namespace blkfair::style
