// The canonical form: complete, stable, and read back to the same scenario; and the key reference,
// made from the same tables.
#include <gtest/gtest.h>

#include <string>

#include "scenarios/language/canonical.h"
#include "scenarios/language/reference.h"
#include "tests/unit/scenario_text.h"

namespace blkfair {
namespace {

TEST(ScenarioCanonical, IsCompleteAndInAFixedOrder) {
  const std::string text = CanonicalToml(Parsed(kPlainScenario), FakeCatalog());
  const std::string head = R"(name = "plain"
situation = "two queues, one tag set"
expectation = "half each"
why = "it is fair"
seed = 1
repeat = 1
window = "100ms"
occupancy_interval = "50ms"

[guest]
vcpus = 1
memory = "1GiB"

[[fixture]]
name = "pair"
kind = "null_blk"
queues = 2
depth = 64
service_time = ["100ms", "1ms"]
scheduler = "none"

[[fixture]]
name = "virtual"
kind = "sim"
queues = 2
spread = "10%"
weights = [1, 0.5]

[[job]]
name = "heavy"
queue = "pair:0"
rw = "randread"
bs = "4KiB"
iodepth = 256
batch_submit = 1
batch_complete = 1
numjobs = 1
engine = "io_uring"
isolation = "thread"
direct = true
offset = "0B"
seed = 0
think_time = "0s"
start_delay = "0s"
nice = 0
ioprio = "none"
fixed_buffers = true
)";
  EXPECT_EQ(text.substr(0, head.size()), head);
  const std::string tail = R"([[phase]]
name = "solo_light"
jobs = ["light"]
settle = "10s"
ramp = "1s"
runtime = "4s"

[[phase]]
name = "solo_heavy"
jobs = ["heavy"]
settle = "10s"
ramp = "1s"
runtime = "4s"

[[phase]]
name = "contention"
jobs = ["heavy", "light"]
settle = "10s"
ramp = "1s"
runtime = "6s"

[[assert]]
name = "share"
kind = "share"
phases = ["contention"]
contention = "required"
of = "tags"
max = 0.6
tolerance = "5%"

[[assert]]
name = "slowdown"
kind = "slowdown"
phases = ["contention"]
contention = "required"
job = "light"
max = 1.5
)";
  ASSERT_GT(text.size(), tail.size());
  EXPECT_EQ(text.substr(text.size() - tail.size()), tail);
}

void ExpectRoundTrip(const std::string& text) {
  const Scenario scenario = Parsed(text);
  const std::string canonical = CanonicalToml(scenario, FakeCatalog());
  const Scenario again = Parsed(canonical);
  EXPECT_TRUE(scenario == again) << canonical;
  EXPECT_EQ(CanonicalToml(again, FakeCatalog()), canonical);
}

TEST(ScenarioCanonical, ReadsBackToTheSameScenario) {
  ExpectRoundTrip(std::string(kPlainScenario));
  const char* jobs[] = {
      "rw = \"randrw\"\nrwmixread = 70",
      "rw = \"rw\"",
      "bs = \"1.5KiB\"\noffset = \"3KiB\"\nsize = \"1MB\"",
      "bs = \"1000B\"\ndirect = false",
      "numjobs = 7\nseed = 9223372036854775807",
      "think_time = \"1.5ms\"\nstart_delay = \"1min\"\nfixed_buffers = false",
      "cpus = [0, 3]\nnice = -5\nioprio = \"rt/0\"",
      "iodepth = 64\nbatch_submit = 32\nbatch_complete = 64",
  };
  for (const char* job : jobs) {
    std::string text = Edited(kPlainScenario, "iodepth = 256", job);
    text = Edited(text, "runtime = \"4s\"", "runtime = \"2min\"");
    ExpectRoundTrip(Edited(text, "runtime = \"6s\"", "runtime = \"90.5s\""));
  }
  const char* bounds[] = {"3",       "0.1",      "1e-300",   "1e300",   "123456789012",
                          "\"5ms\"", "\"1.5s\"", "\"1MiB\"", "\"33%\"", "\"0.007%\""};
  for (const char* bound : bounds) {
    ExpectRoundTrip(std::string(kPlainScenario) +
                    "[[assert]]\nkind = \"bound\"\nphases = [\"solo_light\", \"contention\"]\n"
                    "contention = \"any\"\nbetween = [\"heavy\", \"pair:1\"]\nmax = " +
                    bound + "\n");
  }
}

TEST(ScenarioCanonical, KeepsEveryTextWhatever) {
  for (const char* text :
       {R"("one \"quoted\" word and a \\ backslash")", R"('C:\new "x"')", R"("tab\there")",
        R"("two\nlines")", R"("\n")", R"("\n\n\n")", R"("ends with a quote\n\"")",
        R"("\n\"\"\"\"\"\"\" many quotes")", R"("trailing \\\n backslash")",
        R"("""
folded \
    line""")",
        R"("\u00e4\U0001F600")", R"("")"}) {
    ExpectRoundTrip(Edited(kPlainScenario, "\"it is fair\"", text));
  }
}

TEST(ScenarioCanonical, LongTextsStandOnSeveralLines) {
  const Scenario scenario = Parsed(Edited(kPlainScenario, "it is fair", "first\\nsecond\\n"));
  EXPECT_NE(CanonicalToml(scenario, FakeCatalog()).find("why = \"\"\"\nfirst\nsecond\n\"\"\"\n"),
            std::string::npos);
}

TEST(ScenarioCanonical, DoesNotDependOnHowTheFileWasWritten) {
  std::string text = Edited(kPlainScenario, "service_time = [\"100ms\", \"1ms\"]",
                            "  service_time = ['0.1s', '1000us']  # each");
  text = Edited(text, "phases = [\"contention\"]", "phase = \"contention\"");
  text = Edited(text, "name = \"plain\"", "seed = 1\nname = \"plain\"");
  EXPECT_EQ(CanonicalToml(Parsed(text), FakeCatalog()),
            CanonicalToml(Parsed(kPlainScenario), FakeCatalog()));
}

TEST(ScenarioCanonical, HashIsSha256OfTheText) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(ScenarioHash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ScenarioHash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ScenarioReference, ListsEveryKeyOfEveryTable) {
  const Catalog catalog = FakeCatalog();
  const std::string text = KeyReferenceMarkdown(catalog);
  EXPECT_EQ(text.substr(0, 17), "## Key reference\n");
  for (const auto* parts : {&catalog.engines, &catalog.fixtures, &catalog.assertions}) {
    for (const PartInfo& part : *parts) {
      EXPECT_NE(text.find("`" + std::string(part.name) + "`\n"), std::string::npos) << part.name;
      for (const ParamSpec& spec : part.params) {
        EXPECT_NE(text.find("| `" + std::string(spec.name) + "` |"), std::string::npos)
            << spec.name;
      }
    }
  }
  for (const char* row :
       {"| `name` | text | required |  | Name of the scenario, also in result folders |\n",
        "| `iodepth` | whole number | `1` | 1 to 32768 | I/Os kept in flight by each clone |\n",
        "| `bs` | size | `\"4KiB\"` | 1B to 1GiB | Bytes of one I/O |\n",
        "| `scheduler` | choice | `\"none\"` | `none`, `mq-deadline`, `bfq` | I/O scheduler |\n",
        "| `service_time` | duration, or a list | `\"10ms\"` | from 0s | Service time, of all or "
        "of "
        "each queue |\n",
        "| `weights` | list: number | `[1, 0.5]` | from 0 | Weight of each queue |\n",
        "| `between` | job or queue, or a list | - |  | Jobs or queues |\n",
        "| `max` | metric value | - | from 0 | Greatest value |\n",
        "Synchronous. Synchronous: `iodepth` must be 1.\n"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(ScenarioCatalog, TheFakeOneIsSound) {
  EXPECT_EQ(CatalogFaults(FakeCatalog()), std::vector<std::string>());
}

TEST(ScenarioCatalog, FaultsOfTablesAreFound) {
  static constexpr ParamSpec kFaulty[] = {
      {.name = "bs", .help = "x"},
      {.name = "a b", .help = "x"},
      {.name = "helpless"},
      {.name = "both", .default_text = "x", .required = true, .help = "x"},
      {.name = "choiceless", .type = ParamType::kChoice, .help = "x"},
      {.name = "flags", .type = ParamType::kBool, .shape = ParamShape::kList, .help = "x"},
      {.name = "ref", .type = ParamType::kInt, .help = "x", .refers = ParamRef::kJob},
      {.name = "low", .type = ParamType::kInt, .default_text = "0", .min = 1, .help = "x"},
      {.name = "unitless", .type = ParamType::kSize, .default_text = "4096", .help = "x"},
      {.name = "fine", .type = ParamType::kSize, .default_text = "4KiB", .help = "x"},
      {.name = "fine", .type = ParamType::kSize, .default_text = "4KiB", .help = "x"},
  };
  Catalog catalog;
  catalog.engines = {{.name = "e", .help = "x", .params = kFaulty}};
  catalog.fixtures = {
      {.name = "f", .help = "x", .params = {}, .queue_count = [](const auto&) { return 1u; }}};
  EXPECT_EQ(
      CatalogFaults(catalog),
      (std::vector<std::string>{
          "engine e: bs stands twice, or hides a common key", "engine e: a b is no name for a key",
          "engine e: helpless lacks its help", "engine e: both is required, but has a default",
          "engine e: choiceless must have choices if, and only if, it is a choice",
          "engine e: flags is a list of a type that has no lists",
          "engine e: ref refers to something, but is no text",
          "engine e: low has a default that does not fit it",
          "engine e: unitless has a default that does not fit it",
          "engine e: fine stands twice, or hides a common key",
          "fixture f: lacks the key that counts its queues"}));
}

}  // namespace
}  // namespace blkfair
