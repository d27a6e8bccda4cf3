// What the scenario reader makes of good files, overrides and hostile input.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "scenarios/language/reader.h"
#include "tests/unit/scenario_text.h"

namespace blkfair {
namespace {

TEST(ScenarioReader, FillsInEveryDefault) {
  const Scenario scenario = Parsed(kPlainScenario);
  EXPECT_EQ(scenario.name, "plain");
  EXPECT_EQ(scenario.seed, 1u);
  EXPECT_EQ(scenario.window_ns, 100'000'000);
  EXPECT_EQ(scenario.occupancy_interval_ns, 50'000'000);
  EXPECT_EQ(scenario.guest.vcpus, 1u);
  EXPECT_EQ(scenario.guest.memory_bytes, uint64_t{1} << 30);

  ASSERT_EQ(scenario.fixtures.size(), 2u);
  EXPECT_EQ(scenario.fixtures[0].queues, 2u);
  EXPECT_EQ(scenario.fixtures[0].params.Int("depth"), 64);
  EXPECT_EQ(scenario.fixtures[0].params.IntAt("service_time", 1), 1'000'000);
  EXPECT_FALSE(scenario.fixtures[0].params.Has("disk_size"));
  EXPECT_EQ(scenario.fixtures[1].params.Numbers("weights"), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(scenario.fixtures[1].params.Number("spread"), 0.1);

  ASSERT_EQ(scenario.jobs.size(), 2u);
  const JobSpec& heavy = scenario.jobs[0];
  EXPECT_EQ(heavy.queue, (QueueRef{"pair", 0}));
  EXPECT_EQ(heavy.rw, Rw::kRandRead);
  EXPECT_EQ(heavy.bs_bytes, 4096u);
  EXPECT_EQ(heavy.iodepth, 256u);
  EXPECT_EQ(heavy.batch_submit, 1u);
  EXPECT_EQ(heavy.numjobs, 1u);
  EXPECT_EQ(heavy.engine, "io_uring");
  EXPECT_TRUE(heavy.direct);
  EXPECT_EQ(heavy.size_bytes, 0u);
  EXPECT_TRUE(heavy.engine_params.Bool("fixed_buffers"));
  EXPECT_EQ(scenario.jobs[1].engine, "psync");
}

TEST(ScenarioReader, SimQueuesGetTheSimEngine) {
  const std::string text =
      Edited(kPlainScenario, "queue = \"pair:1\"\nengine = \"psync\"", "queue = \"virtual:1\"");
  EXPECT_EQ(Parsed(text).FindJob("light")->engine, "sim");
}

TEST(ScenarioReader, WithoutIoUringAnEngineMustBeNamed) {
  Catalog catalog = FakeCatalog();
  catalog.engines.erase(catalog.engines.begin());
  const auto scenario = ParseScenario(kPlainScenario, "s.toml", catalog, {});
  ASSERT_FALSE(scenario.has_value());
  ASSERT_EQ(scenario.error().size(), 1u);
  EXPECT_EQ(scenario.error()[0].ToString(),
            "s.toml:15:1: engine is missing: there is no io_uring to fall back on");
}

TEST(ScenarioReader, SoloMakesOnePhaseForEachJobWhereItStands) {
  const Scenario scenario = Parsed(kPlainScenario);
  ASSERT_EQ(scenario.phases.size(), 3u);
  EXPECT_EQ(scenario.phases[0].name, "solo_light");
  EXPECT_EQ(scenario.phases[0].jobs, std::vector<std::string>{"light"});
  EXPECT_TRUE(scenario.phases[0].solo);
  EXPECT_EQ(scenario.phases[0].settle_ns, 10'000'000'000);
  EXPECT_EQ(scenario.phases[0].ramp_ns, 1'000'000'000);
  EXPECT_EQ(scenario.phases[0].runtime_ns, 4'000'000'000);
  EXPECT_EQ(scenario.phases[1].name, "solo_heavy");
  EXPECT_EQ(scenario.phases[2].name, "contention");
  EXPECT_FALSE(scenario.phases[2].solo);
  EXPECT_EQ(scenario.SoloPhaseOf("heavy", "contention"), &scenario.phases[1]);
  EXPECT_EQ(scenario.SoloPhaseOf("nobody", "contention"), nullptr);
  EXPECT_EQ(scenario.LengthNs(), 2 * 15'000'000'000 + 17'000'000'000);
}

TEST(ScenarioReader, AssertionsAreNamedAfterTheirKind) {
  const std::string text =
      std::string(kPlainScenario) +
      "[[assert]]\nkind = \"share\"\nphase = \"contention\"\nmin = 0.1\n"
      "[[assert]]\nkind = \"bound\"\nname = \"share_2\"\nphase = \"contention\"\n";
  const Scenario scenario = Parsed(text);
  ASSERT_EQ(scenario.asserts.size(), 4u);
  EXPECT_EQ(scenario.asserts[0].name, "share");
  EXPECT_EQ(scenario.asserts[1].name, "slowdown");
  EXPECT_EQ(scenario.asserts[2].name, "share_3");
  EXPECT_EQ(scenario.asserts[3].name, "share_2");
}

TEST(ScenarioReader, ContentionComesFromTheTopUnlessAnAssertionSaysOtherwise) {
  EXPECT_EQ(Parsed(kPlainScenario).asserts[0].contention, Contention::kRequired);
  const std::string top = Edited(kPlainScenario, "why =", "contention = \"absent\"\nwhy =");
  const Scenario scenario = Parsed(Edited(top, "max = 0.6", "max = 0.6\ncontention = \"any\""));
  EXPECT_EQ(scenario.asserts[0].contention, Contention::kAny);
  EXPECT_EQ(scenario.asserts[1].contention, Contention::kAbsent);
}

TEST(ScenarioReader, MetricValuesKeepTheUnitThatTheirTextNames) {
  const auto metric = [](const std::string& value) {
    const Scenario scenario =
        Parsed(std::string(kPlainScenario) +
               "[[assert]]\nkind = \"bound\"\nphase = \"contention\"\nmax = " + value + "\n");
    return scenario.asserts.back().params.Metric("max");
  };
  EXPECT_EQ(metric("3"), (MetricValue{3, MetricValue::Unit::kNone}));
  EXPECT_EQ(metric("0.5"), (MetricValue{0.5, MetricValue::Unit::kNone}));
  EXPECT_EQ(metric("\"5ms\""), (MetricValue{5e6, MetricValue::Unit::kNanoseconds}));
  EXPECT_EQ(metric("\"1MiB\""), (MetricValue{1048576, MetricValue::Unit::kBytes}));
  EXPECT_EQ(metric("\"5%\""), (MetricValue{0.05, MetricValue::Unit::kFraction}));
}

TEST(ScenarioReader, ReportsEveryProblemInFileOrder) {
  std::string text = Edited(kPlainScenario, "max = 1.5", "max = true");
  text = Edited(text, "runtime = \"6s\"", "runtme = \"6s\"");
  text = Edited(text, "iodepth = 256", "bs = 512\niodepht = 256");
  text = Edited(text, "name = \"plain\"", "nam = \"plain\"");
  EXPECT_EQ(ProblemsOf(text),
            "s.toml:1:1: unknown key \"nam\" in the scenario; did you mean \"name\"?\n"
            "s.toml:1:1: name is missing (Name of the scenario, also in result folders)\n"
            "s.toml:18:6: bs needs its unit: write \"512B\"\n"
            "s.toml:19:1: unknown key \"iodepht\" in [[job]] of io_uring; did you mean "
            "\"iodepth\"?\n"
            "s.toml:30:1: runtime is missing (Time that is measured)\n"
            "s.toml:33:1: unknown key \"runtme\" in [[phase]]; did you mean \"runtime\"?\n"
            "s.toml:44:7: max must be a number, not true or false\n");
}

TEST(ScenarioReader, TakesCrLfAndAByteOrderMark) {
  std::string text = "\xef\xbb\xbf";
  for (const char c : Edited(kPlainScenario, "\"it is fair\"", "\"\"\"\nit\nis\n\"\"\"")) {
    if (c == '\n') text += '\r';
    text += c;
  }
  const Scenario scenario = Parsed(text);
  EXPECT_EQ(scenario.why, "it\nis\n");
  EXPECT_EQ(ProblemsOf(Edited(text, "name = \"plain\"", "nam = \"plain\"")).substr(0, 11),
            "s.toml:1:1:");
}

TEST(ScenarioOverrides, SetKeysByName) {
  const Scenario scenario =
      Parsed(kPlainScenario,
             {"job.heavy.iodepth=64", "phase.contention.runtime=2s", "phase.solo_light.runtime=3s",
              "fixture.pair.depth=32", "assert.slowdown.max=3", "guest.memory=2GiB", "seed=7",
              "fixture.pair.service_time=[\"5ms\", \"6ms\"]", "why=because it must",
              "job.heavy.rw='read'"});
  EXPECT_EQ(scenario.FindJob("heavy")->iodepth, 64u);
  EXPECT_EQ(scenario.FindJob("heavy")->rw, Rw::kRead);
  EXPECT_EQ(scenario.FindPhase("contention")->runtime_ns, 2'000'000'000);
  EXPECT_EQ(scenario.FindPhase("solo_light")->runtime_ns, 3'000'000'000);
  EXPECT_EQ(scenario.FindPhase("solo_heavy")->runtime_ns, 4'000'000'000);
  EXPECT_EQ(scenario.FindFixture("pair")->params.Int("depth"), 32);
  EXPECT_EQ(scenario.FindFixture("pair")->params.Ints("service_time"),
            (std::vector<int64_t>{5'000'000, 6'000'000}));
  EXPECT_EQ(scenario.asserts[1].params.Number("max"), 3);
  EXPECT_EQ(scenario.guest.memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(scenario.seed, 7u);
  EXPECT_EQ(scenario.why, "because it must");
}

TEST(ScenarioOverrides, TheLastOneHolds) {
  EXPECT_EQ(Parsed(kPlainScenario, {"seed=7", "seed=8"}).seed, 8u);
}

TEST(ScenarioOverrides, MayMendAFileThatIsWrong) {
  const std::string wrong = Edited(kPlainScenario, "iodepth = 256", "iodepth = 0");
  EXPECT_EQ(Parsed(wrong, {"job.heavy.iodepth=4"}).jobs[0].iodepth, 4u);
}

struct OverrideCase {
  Override text;
  std::string problem;
};

TEST(ScenarioOverrides, ProblemsNameTheOverride) {
  const std::string forms =
      "write KEY=VALUE, guest.KEY=VALUE, or fixture|job|phase|assert.NAME.KEY=VALUE, such as "
      "job.heavy.iodepth=64";
  const OverrideCase cases[] = {
      {"job.heavy.iodepht=64",
       "unknown key \"iodepht\" in [[job]] of io_uring; did you mean \"iodepth\"?"},
      {"job.heavy.iodepth=0", "iodepth must be between 1 and 32768, not 0"},
      {"job.heavy.iodepth=many", "iodepth must be a whole number, not \"many\""},
      {"job.heavy.bs=4096", "bs needs its unit: write \"4KiB\""},
      {"job.heavy.queue=pair:7",
       "fixture \"pair\" makes 2 queues, \"pair:0\" to \"pair:1\", not \"pair:7\""},
      {"job.hevy.iodepth=64", "no job \"hevy\"; did you mean \"heavy\"?"},
      {"phase.nothing.runtime=1s",
       "no phase \"nothing\"; there are: solo_light, solo_heavy, contention"},
      {"phase.contention.solo=[\"light\"]",
       "solo cannot be set: set the keys of the phases that it makes, such as "
       "phase.solo_NAME.ramp"},
      {"assert.slowdwn.max=2", "no assert \"slowdwn\"; did you mean \"slowdown\"?"},
      {"sede=7", "unknown key \"sede\" in the scenario; did you mean \"seed\"?"},
      {"guest.vcpus=0", "vcpus must be between 1 and 64, not 0"},
      {"guest.memroy=1GiB", "unknown key \"memroy\" in [guest]; did you mean \"memory\"?"},
      {"seed", "lacks its value: " + forms},
      {"job=3", "\"job\" names no key: " + forms},
      {"job.heavy=3", "\"job.heavy\" names no key: " + forms},
      {"jobs.heavy.bs=3", "\"jobs.heavy.bs\" names no key: " + forms},
      {"=3",
       "unknown key \"\" in the scenario; its keys: name, situation, expectation, why, seed, "
       "repeat, window, occupancy_interval, contention, guest, fixture, job, phase, assert, "
       "compare, axis"},
      {"seed=99999999999999999999", "seed: \"99999999999999999999\" is too large for 64 bits"},
      {"assert.share.min=0.7", "share: min is above max"},
      {"assert.share.max=150%", "max is a number, not a percentage: write 1.5"},
      {"why=a\x07z", "why holds a control character: take it out"},
      {"why=\xff", "the value is not valid UTF-8 text"},
  };
  for (const OverrideCase& c : cases) {
    std::string shown = c.text;
    if (const size_t bell = shown.find('\x07'); bell != std::string::npos) {
      shown.replace(bell, 1, "\\x07");
    }
    EXPECT_EQ(ProblemsOf(kPlainScenario, {c.text}), "--set " + shown + ": " + c.problem + "\n");
  }
}

TEST(ScenarioOverrides, AnImpossiblePairIsThatOfTheOneThatCameLast) {
  EXPECT_EQ(ProblemsOf(kPlainScenario, {"job.heavy.numjobs=1024", "job.heavy.iodepth=512"}),
            "--set job.heavy.iodepth=512: iodepth x numjobs is 512 x 1024, but a job may have at "
            "most 262144 I/Os in flight: lower one of them\n");
}

TEST(ScenarioOverrides, MayTakeAJobToItsBoundsAndAPhaseWithoutARamp) {
  const Scenario scenario =
      Parsed(kPlainScenario,
             {"job.heavy.numjobs=8", "job.heavy.iodepth=32768", "phase.contention.ramp=0s"});
  EXPECT_EQ(scenario.jobs[0].iodepth, 32768u);
  EXPECT_EQ(scenario.FindPhase("contention")->ramp_ns, 0);
}

TEST(ScenarioOverrides, ProblemsComeAfterThoseOfTheFileInTheirOwnOrder) {
  EXPECT_EQ(ProblemsOf(Edited(kPlainScenario, "iodepth = 256", "iodepth = 0"),
                       {"seed=-1", "job.light.bs=1"}),
            "s.toml:18:11: iodepth must be between 1 and 32768, not 0\n"
            "--set seed=-1: seed must be at least 0, not -1\n"
            "--set job.light.bs=1: bs needs its unit: write \"1B\"\n");
}

std::string Repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; i++) out += text;
  return out;
}

TEST(ScenarioHostile, EmptyFilesSayWhatIsMissing) {
  for (const std::string text : {"", "\xef\xbb\xbf", "\n\n", "# nothing"}) {
    const std::string problems = ProblemsOf(text);
    EXPECT_NE(problems.find("name is missing"), std::string::npos);
    EXPECT_NE(problems.find("there is no [[job]]"), std::string::npos);
  }
}

TEST(ScenarioHostile, DeepNestingIsRefused) {
  for (const size_t depth : {10u, 100u, 100'000u}) {
    EXPECT_NE(ProblemsOf("a" + Repeated(".a", depth) + " = 1"), "");
    EXPECT_NE(ProblemsOf("[a" + Repeated(".a", depth) + "]"), "");
    EXPECT_NE(ProblemsOf("[[a" + Repeated(" . \"a\"", depth / 2) + "]]"), "");
    EXPECT_NE(ProblemsOf("a = " + Repeated("[", depth)), "");
    EXPECT_NE(ProblemsOf("a = " + Repeated("[", depth) + Repeated("]", depth)), "");
    EXPECT_NE(ProblemsOf("a = " + Repeated("{a=", depth)), "");
    EXPECT_NE(ProblemsOf("a = " + Repeated("[\n{a.a.a.a.a.a.a.a.a.a.a.a.a.a = ", depth)), "");
    EXPECT_NE(ProblemsOf(kPlainScenario, {"seed=" + Repeated("[", depth)}), "");
    EXPECT_NE(ProblemsOf(kPlainScenario, {"a" + Repeated(".a", depth) + "=1"}), "");
  }
  EXPECT_EQ(ProblemsOf("a" + Repeated(".a", 17) + " = 1"),
            "s.toml:1:34: a key has more than 16 dots: no table is so deep\n");
  // Quotes that close late hide no dots.
  EXPECT_NE(ProblemsOf("x = \"\"\"\"\"\"\na" + Repeated(".a", 100'000) + " = 1"), "");
  EXPECT_NE(ProblemsOf("x = [{a = \"\"\"q\"\"\"\"\", a" + Repeated(".a", 100'000) + " = 1}]"), "");
}

TEST(ScenarioHostile, DotsInTextsAndNumbersAreNoNesting) {
  const std::string prose = Repeated("One. Two. ", 50);
  EXPECT_EQ(Parsed(Edited(kPlainScenario, "it is fair", prose)).why, prose);
  const std::string weights = "kind = \"sim\"\nweights = [" + Repeated("0.5, ", 50) + "1]";
  EXPECT_EQ(Parsed(Edited(kPlainScenario, "kind = \"sim\"", weights))
                .FindFixture("virtual")
                ->params.Numbers("weights")
                .size(),
            51u);
}

TEST(ScenarioHostile, HugeFilesAndListsAreBounded) {
  EXPECT_EQ(ProblemsOf(std::string(300'000, '#')),
            "s.toml:1:1: larger than 256 KiB: this is no scenario\n");
  EXPECT_EQ(ProblemsOf(Edited(kPlainScenario, "[\"100ms\", \"1ms\"]",
                              "[" + Repeated("\"1ms\",", 20'000) + "]")),
            "s.toml:9:16: null_blk: service_time must have one element, or one for each queue\n");
  EXPECT_NE(ProblemsOf(std::string(kPlainScenario) + Repeated("[[phase]]\n", 2100))
                .find("more than 2048 [[phase]] tables"),
            std::string::npos);
  std::string jobs;
  for (int i = 0; i < 1100; i++) jobs += "\"j" + std::to_string(i) + "\",";
  const std::string solo = "[[phase]]\nsolo = [" + jobs + "]\nruntime = \"1s\"\n";
  EXPECT_NE(ProblemsOf(std::string(kPlainScenario) + solo + solo).find("more than 2048 phases"),
            std::string::npos);
}

TEST(ScenarioHostile, LongTextsAreCutInMessages) {
  for (const char* key : {"bs", "think_time", "rw", "queue", "engine", "iodepth"}) {
    const std::string line = std::string(key) + " = \"" + std::string(100'000, 'x') + "\"";
    EXPECT_LT(ProblemsOf(Edited(kPlainScenario, "iodepth = 256", line)).size(), 400u) << key;
  }
}

TEST(ScenarioHostile, BytesThatAreNoUtf8AreRefused) {
  EXPECT_EQ(ProblemsOf("name = \"\xff\xfe\""),
            "s.toml:1:8: not TOML: Encountered invalid utf-8 sequence; save it as UTF-8\n");
  for (const std::string bytes :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_NE(ProblemsOf(bytes), "");
    EXPECT_NE(ProblemsOf("# " + bytes), "");
  }
  EXPECT_NE(ProblemsOf(std::string("\0", 1)), "");
  EXPECT_NE(ProblemsOf(std::string("name = \"a\0b\"", 12)), "");
}

TEST(ScenarioHostile, FilesCutBeforeTheirFirstPhaseNeverPass) {
  for (size_t size = 0; size < kPlainScenario.find("[[phase]]"); size++) {
    EXPECT_NE(ProblemsOf(kPlainScenario.substr(0, size)), "") << size;
  }
}

TEST(ScenarioFile, IsReadAndNamedInProblems) {
  std::string folder = ::testing::TempDir() + "/scenario_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/s.toml";
  std::ofstream(path) << kPlainScenario;
  EXPECT_TRUE(ReadScenarioFile(path, FakeCatalog(), {}).has_value());
  std::ofstream(path) << "nam = 1";
  const auto wrong = ReadScenarioFile(path, FakeCatalog(), {});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error()[0].ToString().substr(0, path.size() + 5), path + ":1:1:");

  const auto missing = ReadScenarioFile(folder + "/none.toml", FakeCatalog(), {});
  ASSERT_FALSE(missing.has_value());
  ASSERT_EQ(missing.error().size(), 1u);
  EXPECT_NE(missing.error()[0].ToString().find("No such file or directory"), std::string::npos);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace blkfair
