// `set` and `sweep`: the phases that they make, what those phases' jobs are, and every slip with
// its place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/language/canonical.h"
#include "tests/unit/scenario_text.h"

namespace blkfair {
namespace {

// Phase "contention" of the plain scenario, whose jobs stand in line 31, with `lines` below them.
std::string With(const std::string& lines) {
  return Edited(kPlainScenario, "jobs = [\"heavy\", \"light\"]",
                "jobs = [\"heavy\", \"light\"]\n" + lines);
}

std::vector<std::string> PhaseNames(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const PhaseSpec& phase : scenario.phases) names.push_back(phase.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(ScenarioSweep, MakesOnePhaseForEachValueInOrder) {
  const Scenario scenario = Parsed(With("sweep = { \"job.heavy.iodepth\" = [32, 4, 1] }"));
  EXPECT_EQ(PhaseNames(scenario),
            (Names{"solo_light", "solo_heavy", "contention_32", "contention_4", "contention_1"}));
  for (size_t i = 2; i < 5; i++) {
    const PhaseSpec& phase = scenario.phases[i];
    EXPECT_EQ(phase.sweep_of, "contention");
    EXPECT_EQ(phase.runtime_ns, 6'000'000'000);
    EXPECT_EQ(phase.jobs, (Names{"heavy", "light"}));
    EXPECT_EQ(scenario.JobInPhase(phase, "heavy")->iodepth, i == 2 ? 32u : i == 3 ? 4u : 1u);
    EXPECT_EQ(scenario.JobInPhase(phase, "light"), scenario.FindJob("light"));
  }
  EXPECT_EQ(scenario.FindJob("heavy")->iodepth, 256u);
  EXPECT_EQ(scenario.JobInPhase("solo_heavy", "heavy")->iodepth, 256u);
  EXPECT_EQ(scenario.JobInPhase("solo_heavy", "light"), nullptr);
}

TEST(ScenarioSweep, TheWaysToWriteItAreTheSame) {
  const std::string canonical =
      CanonicalToml(Parsed(With("sweep = { \"job.heavy.iodepth\" = [3, 2, 1] }")), FakeCatalog());
  for (const char* sweep :
       {"sweep = { \"job.heavy.iodepth\" = \"3..1\" }",
        "sweep = { \"job.heavy.iodepth\" = [3, \"2..1\"] }",
        "sweep = { job.heavy.iodepth = [\"3..1\"] }", "sweep.job.heavy.iodepth = [3, 2, 1]",
        "[phase.sweep]\njob.heavy.iodepth = \"3..1\"",
        "[phase.sweep.job.heavy]\niodepth = [3, 2, 1]"}) {
    // Tables below the phase end it: they stand after its last key.
    const std::string text =
        std::string_view(sweep).starts_with("[")
            ? Edited(kPlainScenario, "runtime = \"6s\"", "runtime = \"6s\"\n" + std::string(sweep))
            : With(sweep);
    EXPECT_EQ(CanonicalToml(Parsed(text), FakeCatalog()), canonical) << sweep;
  }
}

TEST(ScenarioSweep, AKeyWithoutAJobIsThatOfEveryJobAndSeveralKeysCombine) {
  std::string text = Edited(kPlainScenario, "engine = \"psync\"", "iodepth = 8");
  text = Edited(text, "jobs = [\"heavy\", \"light\"]",
                "jobs = [\"heavy\", \"light\"]\nset = { \"job.light.bs\" = \"512B\" }\n"
                "sweep = { direct = [true, false], iodepth = [2, 1] }");
  const Scenario scenario = Parsed(text);
  EXPECT_EQ(PhaseNames(scenario),
            (Names{"solo_light", "solo_heavy", "contention_true_2", "contention_true_1",
                   "contention_false_2", "contention_false_1"}));
  const PhaseSpec& third = scenario.phases[4];
  for (const char* job : {"heavy", "light"}) {
    EXPECT_FALSE(scenario.JobInPhase(third, job)->direct) << job;
    EXPECT_EQ(scenario.JobInPhase(third, job)->iodepth, 2u) << job;
  }
  EXPECT_EQ(scenario.JobInPhase(third, "light")->bs_bytes, 512u);
  EXPECT_EQ(scenario.JobInPhase(third, "heavy")->bs_bytes, 4096u);
}

TEST(ScenarioSweep, AssertionsNameAStepOrTheSweep) {
  std::string text = With("sweep = { \"job.heavy.iodepth\" = [2, 1] }");
  text = Edited(text, "phases = [\"contention\"]", "phases = [\"solo_light\", \"contention\"]");
  text += "[[assert]]\nkind = \"bound\"\nphase = \"contention_1\"\nmax = 3\n";
  const Scenario scenario = Parsed(text);
  EXPECT_EQ(scenario.asserts[0].phases, (Names{"contention_2", "contention_1"}));
  EXPECT_EQ(scenario.asserts[1].phases, (Names{"solo_light", "contention_2", "contention_1"}));
  EXPECT_EQ(scenario.asserts[2].phases, (Names{"contention_1"}));
}

TEST(ScenarioSweep, SoloPhasesAreSweptTooAndFoundByTheirKeys) {
  std::string text = With("sweep = { \"job.heavy.iodepth\" = [2, 1] }");
  text = Edited(text, "solo = [\"light\", \"heavy\"]",
                "solo = [\"heavy\"]\nsweep = { iodepth = [2, 1] }\n"
                "runtime = \"4s\"\n[[phase]]\nsolo = [\"light\"]");
  const Scenario scenario = Parsed(text);
  EXPECT_EQ(PhaseNames(scenario),
            (Names{"solo_heavy_2", "solo_heavy_1", "solo_light", "contention_2", "contention_1"}));
  EXPECT_EQ(scenario.SoloPhaseOf("heavy", "contention_2"), &scenario.phases[0]);
  EXPECT_EQ(scenario.SoloPhaseOf("heavy", "contention_1"), &scenario.phases[1]);
  EXPECT_EQ(scenario.SoloPhaseOf("light", "contention_1"), &scenario.phases[2]);
}

TEST(ScenarioSweep, KeysOfTheFormerEngineDoNotCarryOver) {
  std::string text = Edited(kPlainScenario, "iodepth = 256", "fixed_buffers = false");
  text = Edited(text, "jobs = [\"heavy\", \"light\"]",
                "jobs = [\"heavy\", \"light\"]\n"
                "sweep = { \"job.heavy.engine\" = [\"io_uring\", \"psync\"] }");
  const Scenario scenario = Parsed(text);
  EXPECT_FALSE(
      scenario.JobInPhase("contention_io_uring", "heavy")->engine_params.Bool("fixed_buffers"));
  EXPECT_EQ(scenario.JobInPhase("contention_psync", "heavy")->engine, "psync");
  EXPECT_FALSE(
      scenario.JobInPhase("contention_psync", "heavy")->engine_params.Has("fixed_buffers"));
}

TEST(ScenarioSweep, CanonicalFormWritesTheStepsOutAndReadsBack) {
  for (const char* lines : {"sweep = { \"job.heavy.iodepth\" = [2, 1] }",
                            "set = { \"job.heavy.think_time\" = \"1500us\" }",
                            "set = { queue = \"pair:0\" }\nsweep = { bs = [\"4KiB\", \"1MiB\"] }",
                            "sweep = { \"job.heavy.engine\" = [\"io_uring\", \"psync\"], "
                            "\"job.light.bs\" = [\"8KiB\"] }",
                            "sweep = { \"job.heavy.rw\" = [\"randrw\", \"read\"] }"}) {
    std::string text = Edited(With(lines), "iodepth = 256", "rw = \"rw\"\nrwmixread = 30");
    const Scenario scenario = Parsed(text);
    const std::string canonical = CanonicalToml(scenario, FakeCatalog());
    const Scenario again = Parsed(canonical);
    EXPECT_TRUE(scenario == again) << canonical;
    EXPECT_EQ(CanonicalToml(again, FakeCatalog()), canonical);
  }
  const std::string canonical = CanonicalToml(
      Parsed(With("set = { job.light.bs = \"8192B\" }\nsweep = { \"job.heavy.iodepth\" = [2] }")),
      FakeCatalog());
  EXPECT_NE(canonical.find("[[phase]]\n"
                           "name = \"contention_2\"\n"
                           "jobs = [\"heavy\", \"light\"]\n"
                           "sweep_of = \"contention\"\n"
                           "settle = \"10s\"\n"
                           "ramp = \"1s\"\n"
                           "runtime = \"6s\"\n"
                           "set = { \"job.heavy.iodepth\" = 2, \"job.light.bs\" = \"8KiB\" }\n"),
            std::string::npos)
      << canonical;
}

TEST(ScenarioSweep, OverridesReachEveryStep) {
  const Scenario scenario = Parsed(With("sweep = { \"job.heavy.iodepth\" = [4, 2] }"),
                                   {"phase.contention.runtime=1s", "job.heavy.bs=8KiB",
                                    "phase.contention.sweep={ \"job.heavy.iodepth\" = [2, 1] }"});
  EXPECT_EQ(PhaseNames(scenario),
            (Names{"solo_light", "solo_heavy", "contention_2", "contention_1"}));
  for (size_t i = 2; i < 4; i++) {
    EXPECT_EQ(scenario.phases[i].runtime_ns, 1'000'000'000);
    EXPECT_EQ(scenario.JobInPhase(scenario.phases[i], "heavy")->bs_bytes, 8192u);
  }
}

TEST(ScenarioSweep, EverySlipIsReportedWhereItIs) {
  struct Slip {
    const char* lines;
    const char* problem;
  };
  for (const Slip& slip : std::vector<Slip>{
           {"sweep = 3",
            "32:9: sweep must be a table such as { \"job.reader.iodepth\" = [1, 4, 16] }, not a "
            "whole number"},
           {"set = []",
            "32:7: set must be a table such as { \"job.reader.iodepth\" = 4 }, not a list"},
           {"sweep = {}", "32:9: sweep must not be empty"},
           {"sweep = { \"job.heavy.iodepth\" = [] }", "32:33: job.heavy.iodepth must not be empty"},
           {"sweep = { \"job.heavy.iodepth\" = 4 }",
            "32:33: job.heavy.iodepth takes a list of values, or a range such as \"32..1\", not a "
            "whole number"},
           {"sweep = { \"job.heavy.iodepth\" = [4, 0] }",
            "32:37: iodepth must be between 1 and 32768, not 0"},
           {"sweep = { \"job.heavy.iodepth\" = [4, \"4..x\"] }",
            "32:37: iodepth must be a whole number, not \"4..x\""},
           {"sweep = { \"job.heavy.iodepht\" = [4] }",
            "32:11: unknown key \"iodepht\" in [[job]] of io_uring; did you mean \"iodepth\"?"},
           {"sweep = { \"job.heavvy.iodepth\" = [4] }",
            "32:11: no job of this phase is named \"heavvy\"; did you mean \"heavy\"?"},
           {"sweep = { \"fixture.pair.depth\" = [4] }",
            "32:11: sweep takes keys of jobs, KEY or \"job.NAME.KEY\", not \"fixture.pair.depth\""},
           {"set = { \"job.heavy.name\" = \"x\" }",
            "32:9: name cannot be set: a job has one name in all phases"},
           {"set = { bs = \"8KiB\", \"job.heavy.bs\" = \"4KiB\" }",
            "32:22: job.heavy.bs is given twice for this phase"},
           {"set = { \"job.heavy.bs\" = \"8KiB\" }\nsweep = { bs = [\"4KiB\"] }",
            "33:11: job.heavy.bs is given twice for this phase"},
           {"sweep = { \"job.heavy.iodepth\" = [4, 4] }",
            "32:37: job.heavy.iodepth has 4 twice"},
           {"sweep = { \"job.heavy.iodepth\" = \"1..2000\" }",
            "32:33: \"1..2000\" has more than 1000 values"},
           {"sweep = { \"job.heavy.iodepth\" = [8, 2] }\nsweep_of = \"x\"",
            "33:1: sweep_of stands in the steps of a sweep: this phase is a whole one"},
           {"sweep_of = \"solo_light\"",
            "26:9: a sweep is named \"solo_light\" too: names must differ"},
       }) {
    EXPECT_EQ(ProblemsOf(With(slip.lines)), "s.toml:" + std::string(slip.problem) + "\n")
        << slip.lines;
  }
}

TEST(ScenarioSweep, AFaultOfJobAndStepTogetherIsReportedAtTheStep) {
  const std::string text = Edited(With("sweep = { \"job.heavy.iodepth\" = [64, 8] }"),
                                  "iodepth = 256", "iodepth = 256\nbatch_submit = 32");
  EXPECT_EQ(ProblemsOf(text),
            "s.toml:33:38: job heavy in phase contention_8: batch_submit is 32, but only 8 can be "
            "in flight: lower it, or raise iodepth\n");
}

TEST(ScenarioSweep, HostileSweepsAreBounded) {
  std::string text = With("sweep = { bs = [\"4KiB\"], seed = \"1..1000\", offset = \"1..1000\" }");
  EXPECT_NE(ProblemsOf(text).find("more than 2048 phases"), std::string::npos);
  std::string ranges;
  for (int i = 0; i < 5000; i++) ranges += "\"1..1000\", ";
  text = With("sweep = { seed = [" + ranges + "] }");
  EXPECT_NE(ProblemsOf(text).find("more than 1000 values of seed"), std::string::npos);
}

}  // namespace
}  // namespace blkfair
