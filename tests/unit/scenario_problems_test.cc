// Every rule of the scenario reader, one case each: an edit of a good scenario, and the exact lines
// that it must give.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/scenario_text.h"

namespace blkfair {
namespace {

struct Case {
  std::string from;
  std::string to;
  std::vector<std::string> problems;  // without "s.toml:"
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    std::string expected;
    for (const std::string& problem : c.problems) expected += "s.toml:" + problem + "\n";
    EXPECT_EQ(ProblemsOf(Edited(kPlainScenario, c.from, c.to)), expected)
        << c.from << " became " << c.to;
  }
}

TEST(ScenarioProblems, ThePlainScenarioHasNone) { EXPECT_EQ(ProblemsOf(kPlainScenario), ""); }

TEST(ScenarioProblems, WrongValuesSayWhatToWrite) {
  Check({
      {"iodepth = 256",
       R"(iodepth = "256")",
       {"18:11: iodepth is a whole number: write 256 without quotes"}},
      {"iodepth = 256",
       "iodepth = 2.5",
       {"18:11: iodepth must be a whole number, not a decimal number"}},
      {"iodepth = 256",
       R"(iodepth = "99999999999999999999")",
       {R"(18:11: iodepth: "99999999999999999999" is too large for 64 bits)"}},
      {"iodepth = 256", "iodepth = 0", {"18:11: iodepth must be between 1 and 32768, not 0"}},
      {"iodepth = 256", "iodepth = [4]", {"18:11: iodepth takes a single value here, not a list"}},
      {"iodepth = 256",
       "iodepth = 2024-01-01",
       {"18:11: iodepth must be a whole number, not a date or time"}},
      {"iodepth = 256", "bs = 4096", {R"(18:6: bs needs its unit: write "4KiB")"}},
      {"iodepth = 256",
       R"(bs = "4K")",
       {"18:6: bs: cannot read \"4K\": a size is a number and one of B, KiB, MiB, GiB, TiB, kB, "
        "MB, GB, TB, such as \"128KiB\""}},
      {"iodepth = 256", R"(bs = "0B")", {R"(18:6: bs must be above 0 and at most 1GiB, not "0B")"}},
      {"iodepth = 256", "bs = 1.5", {R"(18:6: bs needs its unit, as in "4KiB")"}},
      {"iodepth = 256",
       "bs = true",
       {R"(18:6: bs must be a size such as "128KiB", not true or false)"}},
      {"iodepth = 256",
       "think_time = 10",
       {R"(18:14: think_time needs its unit: write "10s", "10ms" or "10us")"}},
      {"iodepth = 256", "think_time = 1.5", {R"(18:14: think_time needs its unit, as in "50ms")"}},
      {"iodepth = 256",
       R"(think_time = "10")",
       {"18:14: think_time: \"10\" lacks its unit: a duration is a number and one of ns, us, ms, "
        "s, min, h, such as \"50ms\""}},
      {"iodepth = 256",
       R"(direct = "true")",
       {"18:10: direct is true or false: write true without quotes"}},
      {"iodepth = 256", "direct = 1", {"18:10: direct must be true or false, not a whole number"}},
      {"iodepth = 256",
       R"(rw = "ranread")",
       {R"(18:6: rw: unknown value "ranread"; did you mean "randread"?)"}},
      {"iodepth = 256",
       R"(rw = "sideways")",
       {"18:6: rw: unknown value \"sideways\"; choices: read, write, randread, randwrite, rw, "
        "randrw, trim, randtrim"}},
      {"iodepth = 256",
       "rw = 1",
       {"18:6: rw must be a text in quotes, one of read, write, randread, randwrite, rw, randrw, "
        "trim, randtrim, not a whole number"}},
      {"iodepth = 256",
       "rw = \"randrw\"\nrwmixread = 170",
       {"19:13: rwmixread must be between 0 and 100, not 170"}},
      {R"(queue = "pair:1")",
       "queue = 1",
       {"22:9: queue must be a text in quotes, not a whole number"}},
      {R"(kind = "null_blk")",
       "kind = 3",
       {"8:8: kind must be a text in quotes, not a whole number"}},
      {R"(kind = "null_blk")",
       "kind = \"null_blk\"\nqueues = 100",
       {"9:10: queues must be between 1 and 64, not 100"}},
      {R"(kind = "sim")",
       "kind = \"sim\"\nspread = 5",
       {R"(14:10: spread needs its unit: write "5%")"}},
      {R"(kind = "sim")",
       "kind = \"sim\"\nspread = 0.05",
       {R"(14:10: spread needs its unit: write "5%")"}},
      {R"(kind = "sim")",
       "kind = \"sim\"\nspread = \"200%\"",
       {R"(14:10: spread must be between 0% and 100%, not "200%")"}},
      {R"(kind = "sim")",
       "kind = \"sim\"\nweights = 1",
       {"14:11: weights takes a list: write [1]"}},
      {R"(kind = "sim")",
       "kind = \"sim\"\nweights = [1, \"2\", nan]",
       {"14:15: weights is a number: write 2 without quotes",
        "14:20: weights must be a finite number"}},
      {R"(kind = "sim")", "kind = \"sim\"\nweights = []", {"14:11: weights must not be empty"}},
      {R"(service_time = ["100ms", "1ms"])",
       R"(service_time = ["100ms", 1])",
       {R"(9:26: service_time needs its unit: write "1s", "1ms" or "1us")"}},
      {R"(runtime = "6s")",
       R"(runtime = "0s")",
       {R"(32:11: runtime must be above 0 and at most 24h, not "0s")"}},
      {R"(runtime = "6s")",
       R"(runtime = "48h")",
       {R"(32:11: runtime must be above 0 and at most 24h, not "48h")"}},
      {R"(runtime = "6s")",
       "runtime = 6",
       {R"(32:11: runtime needs its unit: write "6s", "6ms" or "6us")"}},
      {R"(jobs = ["heavy", "light"])", "jobs = []", {"31:8: jobs must not be empty"}},
      {R"(jobs = ["heavy", "light"])",
       R"(jobs = "heavy")",
       {R"(31:8: jobs takes a list: write ["heavy"])"}},
      {"solo = [\"light\", \"heavy\"]\nruntime = \"4s\"",
       "solo = [\"light\", \"heavy\"]\nruntime = 4",
       {R"(27:11: runtime needs its unit: write "4s", "4ms" or "4us")"}},
      {R"(phases = ["contention"])",
       "phases = [\"contention\"]\ncontention = \"maybe\"",
       {R"(42:14: contention: unknown value "maybe"; choices: required, absent, any)"}},
      {"max = 0.6", "max = 1.6", {"37:7: max must be between 0 and 1, not 1.6"}},
      {"max = 0.6", R"(max = "0.6")", {"37:7: max is a number: write 0.6 without quotes"}},
      {"max = 0.6", R"(max = "150%")", {"37:7: max is a number, not a percentage: write 1.5"}},
      {"max = 0.6", R"(max = "1.2.3")", {R"(37:7: max must be a number, not "1.2.3")"}},
      {"max = 0.6", "max = inf", {"37:7: max must be a finite number"}},
      {"[[assert]]\nkind = \"slowdown\"\nphases = [\"contention\"]\njob = \"light\"\nmax = 1.5",
       "[[assert]]\nkind = \"bound\"\nphase = \"contention\"\nmax = \"5 ms\"",
       {"42:7: max: cannot read \"5 ms\": write a number, or a text with a unit such as \"5ms\", "
        "\"1MiB\" or \"5%\""}},
      {R"(name = "plain")",
       "name = \"plain\"\nseed = -1",
       {"2:8: seed must be at least 0, not -1"}},
      {R"(name = "plain")",
       "name = \"plain\"\nwindow = \"1us\"",
       {R"(2:10: window must be between 1ms and 24h, not "1us")"}},
      {R"(name = "plain")",
       "name = \"plain\"\ncontention = \"requird\"",
       {R"(2:14: contention: unknown value "requird"; did you mean "required"?)"}},
      {R"(why = "it is fair")",
       R"(why = "it\u0007 is fair")",
       {"4:7: why holds a control character: take it out"}},
      {R"(why = "it is fair")",
       "why = \"f\"\nguest.vcpus = 0",
       {"5:15: vcpus must be between 1 and 64, not 0"}},
      {"iodepth = 256",
       "iodepth = 4.0",
       {"18:11: iodepth must be a whole number, not a decimal number"}},
      {R"(kind = "sim")",
       "kind = \"sim\"\nweights = 1.5",
       {"14:11: weights takes a list: write [1.5]"}},
      {R"(why = "it is fair")",
       "why = 3",
       {"4:7: why must be a text in quotes, not a whole number"}},
  });
}

TEST(ScenarioProblems, UnknownAndMissingKeysAndTables) {
  Check({
      {"iodepth = 256",
       "iodepht = 256",
       {R"(18:1: unknown key "iodepht" in [[job]] of io_uring; did you mean "iodepth"?)"}},
      {"queue = \"pair:1\"\n",
       "",
       {R"(20:1: queue is missing (The queue that it reads or writes, as "FIXTURE:INDEX"))"}},
      {R"(kind = "null_blk")",
       "kind = \"null_blk\"\ndept = 3",
       {R"(9:1: unknown key "dept" in [[fixture]] of null_blk; did you mean "depth"?)"}},
      {R"(kind = "sim")", R"(kind = "knob")", {"11:1: value is missing (What is written)"}},
      {"runtime = \"6s\"\n", "", {"29:1: runtime is missing (Time that is measured)"}},
      {"jobs = [\"heavy\", \"light\"]\n",
       "",
       {"29:1: jobs is missing (The jobs that start together; not with solo)"}},
      {R"(solo = ["light", "heavy"])",
       R"(solo = "light")",
       {R"(26:8: solo takes a list: write ["light"])"}},
      {R"(solo = ["light", "heavy"])",
       "name = \"both\"\nsolo = [\"light\", \"heavy\"]",
       {"27:1: solo stands instead of name and jobs: keep one or the other"}},
      {"solo = [\"light\", \"heavy\"]\nruntime = \"4s\"",
       R"(solo = ["light", "heavy"])",
       {"25:1: runtime is missing (Time that is measured)"}},
      {"kind = \"share\"\n",
       "",
       {"34:1: kind is missing (The rule that is applied; the kind decides on the other keys)"}},
      {R"(phase = "contention")",
       "phase = \"contention\"\nphases = [\"contention\"]",
       {"37:10: phase and phases say the same: keep one of them"}},
      {"phase = \"contention\"\n",
       "",
       {"34:1: phase is missing: name the phase that is judged, or several in phases"}},
      {"name = \"plain\"\n",
       "",
       {"1:1: name is missing (Name of the scenario, also in result folders)"}},
      {R"(name = "plain")",
       "name = \"plain\"\nsede = 7",
       {R"(2:1: unknown key "sede" in the scenario; did you mean "seed"?)"}},
      {R"(name = "plain")",
       "name = \"plain\"\njobs = 1",
       {R"(2:1: unknown key "jobs" in the scenario; did you mean "job"?)"}},
      {R"(why = "it is fair")",
       "guest = 1",
       {"1:1: why is missing (Why it matters, in prose)",
        "4:9: guest must be one table: write [guest] above its keys"}},
      {R"(why = "it is fair")",
       "why = \"f\"\n[guest]\nmem = \"1GiB\"",
       {R"(6:1: unknown key "mem" in [guest]; its keys: vcpus, memory)"}},
      {R"(why = "it is fair")",
       "why = \"f\"\n[[guest]]\nmem = \"1GiB\"",
       {"5:1: guest must be one table: write [guest] above its keys"}},
      {"[[phase]]\nsolo = [\"light\", \"heavy\"]\nruntime = \"4s\"\n\n[[phase]]\n",
       "[phase]\n",
       {"25:1: write [[phase]], not [phase]: there may be several"}},
  });
}

TEST(ScenarioProblems, NamesThatDoNotExistOrRepeat) {
  Check({
      {"iodepth = 256",
       R"(engine = "io_urign")",
       {R"(18:10: unknown engine "io_urign"; did you mean "io_uring"?)"}},
      {"iodepth = 256",
       "engine = \"rbd\"\nfixed_bufers = true",
       {R"(18:10: unknown engine "rbd"; there are: io_uring, libaio, psync, sim)",
        R"(19:1: unknown key "fixed_bufers" in [[job]]; did you mean "fixed_buffers"?)"}},
      {R"(queue = "pair:1")",
       R"(queue = "pair:2")",
       {R"(22:9: fixture "pair" makes 2 queues, "pair:0" to "pair:1", not "pair:2")"}},
      {R"(queue = "pair:1")",
       R"(queue = "piar:1")",
       {R"(22:9: no fixture makes queue "piar:1"; did you mean "pair:1"?)"}},
      {R"(queue = "pair:1")",
       R"(queue = "disk:1")",
       {"22:9: no fixture makes queue \"disk:1\"; there are: pair:0, pair:1, virtual:0, "
        "virtual:1"}},
      {R"(queue = "pair:1")",
       R"(queue = "pair")",
       {R"(22:9: a queue is named "pair:0", not "pair")"}},
      {R"(queue = "pair:1")",
       R"(queue = "pair:01")",
       {R"(22:9: a queue is named "FIXTURE:INDEX", not "pair:01")"}},
      {R"(name = "light")",
       R"(name = "heavy")",
       {R"(21:8: another job is named "heavy": names must differ)",
        R"(26:9: no job is named "light"; there are: heavy)",
        R"(31:18: no job is named "light"; there are: heavy)",
        R"(42:7: no job is named "light"; there are: heavy)"}},
      {R"(name = "light")",
       R"(name = "the light")",
       {R"(21:8: job cannot be named "the light": take up to 64 letters, digits, "_" and "-")",
        R"(26:9: no job is named "light"; there are: heavy)",
        R"(31:18: no job is named "light"; there are: heavy)",
        R"(42:7: no job is named "light"; there are: heavy)"}},
      {R"(name = "light")",
       R"(name = "")",
       {R"(21:8: job cannot be named "": take up to 64 letters, digits, "_" and "-")",
        R"(26:9: no job is named "light"; there are: heavy)",
        R"(31:18: no job is named "light"; there are: heavy)",
        R"(42:7: no job is named "light"; there are: heavy)"}},
      {"name = \"light\"\n",
       "",
       {"20:1: name is missing (Name of the job)",
        R"(25:9: no job is named "light"; there are: heavy)",
        R"(30:18: no job is named "light"; there are: heavy)",
        R"(41:7: no job is named "light"; there are: heavy)"}},
      {R"(kind = "null_blk")",
       R"(kind = "nul_blk")",
       {R"(8:8: unknown fixture kind "nul_blk"; did you mean "null_blk"?)"}},
      {R"(kind = "null_blk")",
       R"(kind = "nvme")",
       {R"(8:8: unknown fixture kind "nvme"; there are: null_blk, sim, knob)"}},
      {R"(name = "virtual")",
       R"(name = "pair")",
       {R"(12:8: another fixture is named "pair": names must differ)"}},
      {R"(jobs = ["heavy", "light"])",
       R"(jobs = ["heavy", "heavy"])",
       {R"(31:18: jobs names "heavy" twice)"}},
      {R"(jobs = ["heavy", "light"])",
       R"(jobs = ["heavy", "lihgt"])",
       {R"(31:18: no job is named "lihgt"; did you mean "light"?)"}},
      {R"(name = "contention")",
       R"(name = "solo_light")",
       {R"(30:8: another phase is named "solo_light": names must differ)",
        R"(36:9: no phase is named "contention"; there are: solo_light, solo_heavy)",
        R"(41:11: no phase is named "contention"; there are: solo_light, solo_heavy)"}},
      {R"(name = "contention")",
       R"(name = "a phase")",
       {R"(30:8: phase cannot be named "a phase": take up to 64 letters, digits, "_" and "-")",
        R"(36:9: no phase is named "contention"; there are: solo_light, solo_heavy)",
        R"(41:11: no phase is named "contention"; there are: solo_light, solo_heavy)"}},
      {R"(solo = ["light", "heavy"])",
       R"(solo = ["light", "light"])",
       {R"(26:18: another phase is named "solo_light": names must differ)"}},
      {R"(solo = ["light", "heavy"])",
       R"(solo = ["light", "hevy"])",
       {R"(26:18: no job is named "hevy"; did you mean "heavy"?)"}},
      {R"(kind = "share")",
       R"(kind = "shard")",
       {R"(35:8: unknown assertion kind "shard"; did you mean "share"?)"}},
      {R"(kind = "share")",
       R"(kind = "latency")",
       {R"(35:8: unknown assertion kind "latency"; there are: share, slowdown, bound)"}},
      {R"(phase = "contention")",
       R"(phase = "contentoin")",
       {R"(36:9: no phase is named "contentoin"; did you mean "contention"?)"}},
      {R"(phases = ["contention"])",
       R"(phases = ["contention", "contention"])",
       {R"(41:25: phases names "contention" twice)"}},
      {"max = 0.6",
       "max = 0.6\nqueues = [\"pair:0\", \"pair:5\"]",
       {R"(38:21: fixture "pair" makes 2 queues, "pair:0" to "pair:1", not "pair:5")"}},
      {R"(job = "light")",
       R"(job = "lite")",
       {R"(42:7: no job is named "lite"; there are: heavy, light)"}},
      {R"(job = "light")",
       "job = \"light\"\nsolo = \"solo_lihgt\"",
       {R"(43:8: no phase is named "solo_lihgt"; did you mean "solo_light"?)"}},
      {"[[assert]]\nkind = \"slowdown\"\nphases = [\"contention\"]\njob = \"light\"\nmax = 1.5",
       "[[assert]]\nkind = \"bound\"\nphase = \"contention\"\nbetween = [\"heavy\", \"pair:1\", "
       "\"ligt\", \"pair:9\"]\nmax = \"5\"",
       {R"(42:31: no job or queue is named "ligt"; did you mean "light"?)",
        R"(42:39: fixture "pair" makes 2 queues, "pair:0" to "pair:1", not "pair:9")",
        R"(43:7: max: write "5" without quotes, or with its unit, as in "5ms")"}},
      {R"(name = "plain")",
       R"(name = "plain/er")",
       {R"(1:8: scenario cannot be named "plain/er": take up to 64 letters, digits, "_" and "-")"}},
      {"[[phase]]\nsolo = [\"light\", \"heavy\"]\nruntime = \"4s\"\n\n[[phase]]\nname = "
       "\"contention\"\njobs = [\"heavy\", \"light\"]\nruntime = \"6s\"\n",
       "phase = 1",
       {"1:1: there is no [[phase]]: a scenario needs one at least",
        "25:1: unknown key \"phase\" in [[job]] of psync; its keys: name, queue, rw, rwmixread, "
        "trim, bs, iodepth, batch_submit, batch_complete, numjobs, engine, isolation, direct, "
        "offset, size, seed, rate_iops, rate_process, think_time, start_delay, cpus, nice, ioprio",
        R"(28:9: no phase is named "contention")", R"(33:11: no phase is named "contention")"}},
  });
}

// Elsewhere 0 means "reap after each submit", which makes a deep job one of depth 1 without a word.
TEST(ScenarioProblems, B14ABatchOfZeroIsRefused) {
  Check({
      {"iodepth = 256",
       "batch_complete = 0",
       {"18:18: batch_complete must be between 1 and 32768, not 0"}},
      {"iodepth = 256",
       "batch_submit = 0",
       {"18:16: batch_submit must be between 1 and 32768, not 0"}},
  });
}

TEST(ScenarioProblems, B16ADepthThatTheEngineCannotReachIsRefused) {
  Check({
      {"iodepth = 256",
       "engine = \"psync\"\niodepth = 64",
       {"19:11: engine psync is synchronous: depth 1; use numjobs"}},
      {"iodepth = 256",
       "engine = \"libaio\"\niodepth = 64\ndirect = false",
       {"19:11: engine libaio is synchronous while direct is false: depth 1; use numjobs"}},
  });
}

TEST(ScenarioProblems, TrimsAreOneAtATimeUnlessTheEngineHasThem) {
  Check({
      {"iodepth = 256",
       "rw = \"randtrim\"\niodepth = 8",
       {"19:11: trims by ioctl are synchronous: depth 1; use numjobs, or trim = \"async\""}},
      {"iodepth = 256",
       "engine = \"libaio\"\nrw = \"trim\"\niodepth = 8",
       {"20:11: trims by ioctl are synchronous: depth 1; use numjobs"}},
      {"iodepth = 256",
       "engine = \"libaio\"\nrw = \"trim\"\ntrim = \"async\"",
       {"20:8: engine libaio has no trims of its own: leave trim at \"ioctl\""}},
      {"iodepth = 256",
       "trim = \"async\"",
       {"18:8: trim goes with rw = \"trim\" or \"randtrim\" only, not with \"randread\""}},
  });
}

TEST(ScenarioProblems, ImpossibleCombinations) {
  Check({
      {"iodepth = 256",
       R"(bs = "1000B")",
       {"18:6: bs must be a multiple of 512B while direct is true, not 1kB"}},
      {"iodepth = 256",
       "bs = \"4KiB\"\noffset = \"2KiB\"",
       {"19:10: offset must be a multiple of bs, which is 4KiB, not 2KiB"}},
      {"iodepth = 256",
       "bs = \"4KiB\"\nsize = \"2KiB\"",
       {"19:8: size must be at least bs, which is 4KiB, not 2KiB; leave it out to go to the end of "
        "the queue"}},
      {"iodepth = 256",
       R"(size = "0B")",
       {"18:8: size must be at least bs, which is 4KiB, not 0B; leave it out to go to the end of "
        "the queue"}},
      {"iodepth = 256",
       "rwmixread = 70",
       {R"(18:13: rwmixread goes with rw = "rw" or "randrw" only, not with "randread")"}},
      {"iodepth = 256",
       "batch_submit = 2",
       {"18:16: batch_submit is 2, but only 1 can be in flight: lower it, or raise iodepth"}},
      {"iodepth = 256",
       "batch_complete = 2",
       {"18:18: batch_complete is 2, but only 1 can be in flight: lower it, or raise iodepth"}},
      {"iodepth = 256",
       R"(engine = "sim")",
       {R"(18:10: engine sim needs the queue of a sim fixture; "pair:0" is of kind null_blk)"}},
      {R"(engine = "psync")",
       "engine = \"psync\"\niodepth = 4",
       {"24:11: engine psync is synchronous: depth 1; use numjobs"}},
      {R"(engine = "psync")",
       "engine = \"psync\"\nfixed_buffers = true",
       {"24:1: unknown key \"fixed_buffers\" in [[job]] of psync; its keys: name, queue, rw, "
        "rwmixread, trim, bs, iodepth, batch_submit, batch_complete, numjobs, engine, isolation, "
        "direct, offset, size, seed, rate_iops, rate_process, think_time, start_delay, cpus, nice, "
        "ioprio"}},
      {R"(queue = "pair:1")",
       R"(queue = "virtual:1")",
       {R"(23:10: queue "virtual:1" is simulated: engine must be sim, not psync)"}},
      {R"(kind = "null_blk")",
       "kind = \"null_blk\"\nqueues = 3",
       {"10:16: null_blk: service_time must have one element, or one for each queue"}},
      {R"(kind = "null_blk")",
       "kind = \"null_blk\"\ndisk_size = \"1KiB\"",
       {R"(9:13: disk_size must be at least 4KiB, not "1KiB")"}},
      {R"(engine = "psync")",
       "engine = \"psync\"\n\n[[job]]\nname = \"idle\"\nqueue = \"pair:0\"",
       {R"(26:8: job "idle" runs in no phase: name it in one, or take it out)"}},
      {"queue = \"pair:1\"\nengine = \"psync\"",
       "queue = \"virtual:1\"\nisolation = \"process\"",
       {"23:13: a simulated job has neither a thread nor a process: take isolation out"}},
      {"iodepth = 256",
       "rate_iops = 100\nthink_time = \"1ms\"",
       {"19:14: rate_iops says when I/Os begin: take think_time out, or rate_iops"}},
      {"iodepth = 256",
       R"(rate_process = "poisson")",
       {"18:16: rate_process goes with rate_iops only"}},
      {"max = 0.6", R"(tolerance = "5%")", {"34:1: share: give min, max or both"}},
      {"max = 0.6", "max = 0.6\nmin = 0.7", {"38:7: share: min is above max"}},
      {"iodepth = 256",
       "iodepth = 32768\nnumjobs = 9",
       {"18:11: iodepth x numjobs is 32768 x 9, but a job may have at most 262144 I/Os in flight: "
        "lower one of them"}},
      {R"(name = "plain")",
       "name = \"plain\"\noccupancy_interval = \"7s\"",
       {"2:22: occupancy_interval is 7s, but no phase runs longer than 6s: the tags would not be "
        "sampled; lower it, or raise runtime"}},
  });
}

TEST(ScenarioProblems, AFixturesFaultHidesNoneOfTheJobs) {
  const std::string text =
      Edited(kPlainScenario, R"(kind = "null_blk")", "kind = \"null_blk\"\ndepth = \"64\"");
  EXPECT_EQ(ProblemsOf(Edited(text, R"(queue = "pair:1")", R"(queue = "pair:7")")),
            "s.toml:9:9: depth is a whole number: write 64 without quotes\n"
            "s.toml:23:9: fixture \"pair\" makes 2 queues, \"pair:0\" to \"pair:1\", not "
            "\"pair:7\"\n");
  // Nothing is said of queues whose number nobody knows.
  const std::string unknown = Edited(text, R"(depth = "64")", R"(queues = "8")");
  EXPECT_EQ(ProblemsOf(Edited(unknown, R"(queue = "pair:1")", R"(queue = "pair:7")")),
            "s.toml:9:10: queues is a whole number: write 8 without quotes\n");
}

TEST(ScenarioProblems, SyntaxErrorsHaveTheirPlace) {
  Check({
      {R"(why = "it is fair")",
       "why = ",
       {R"(4:7: not TOML: in key-value pair: expected value, saw '\n')"}},
      {R"(why = "it is fair")",
       R"(why = "it is fair)",
       {"4:18: not TOML: in string: unescaped control characters other than TAB (U+0009) are "
        "explicitly prohibited; is the closing quote missing?"}},
      {R"(why = "it is fair")",
       "why = \"f\"\nwhy = \"g\"",
       {"5:7: not TOML: in key-value pair: cannot redefine existing string 'why'"}},
      {"[[phase]]\nname = \"contention\"",
       "[phase]\nname = \"contention\"",
       {"29:1: not TOML: in table header: cannot redefine existing array 'phase' as table"}},
      {"iodepth = 256",
       "bs = 4KiB",
       {"18:7: not TOML: in decimal integer: expected digit, saw 'K'; texts and values with a unit "
        "need quotes: bs = \"4KiB\""}},
      {"iodepth = 256",
       "rw = randread # pattern",
       {"18:6: not TOML: in value: could not determine value type; texts and values with a unit "
        "need quotes: rw = \"randread\""}},
      {"iodepth = 256",
       R"(rw = "randread)",
       {"18:15: not TOML: in string: unescaped control characters other than TAB (U+0009) are "
        "explicitly prohibited; is the closing quote missing?"}},
      {"iodepth = 256",
       "\"a\nb\" = 1",
       {"18:3: not TOML: in string: unescaped control characters other than TAB (U+0009) are "
        "explicitly prohibited; is the closing quote missing?"}},
  });
}

TEST(ScenarioProblems, AnAxisThatMakesNoScenarioIsReportedWhereItStands) {
  const std::string end = "job = \"light\"\nmax = 1.5\n";
  const auto with = [&](const std::string& key, const std::string& values) {
    return end + "\n[[axis]]\nkey = \"" + key + "\"\nvalues = " + values + "\n";
  };
  Check({
      {end, with("job.heavy.iodepth", R"(["1", "64"])"), {}},
      {end,
       with("job.heavy.iodpeth", R"(["1", "64"])"),
       {"47:10: job.heavy.iodpeth=1: unknown key \"iodpeth\" in [[job]] of io_uring; did you mean "
        "\"iodepth\"?"}},
      {end,
       with("job.heavy.iodepth", R"(["1", "0"])"),
       {"47:10: job.heavy.iodepth=0: iodepth must be between 1 and 32768, not 0"}},
      {end,
       with("job.hevy.iodepth", R"(["1"])"),
       {"47:10: job.hevy.iodepth=1: no job \"hevy\"; did you mean \"heavy\"?"}},
      {end,
       with("job.heavy.iodepth", "[1]"),
       {"47:11: values must be a text in quotes, not a whole number"}},
      {end,
       "job = \"light\"\nmax = 1.5\n\n[[axis]]\nkye = \"seed\"\n",
       {"45:1: key is missing (A key of the scenario, written as in --set)",
        "45:1: values is missing (Its values, each written as in --set)",
        R"(46:1: unknown key "kye" in [[axis]]; did you mean "key"?)"}},
      {end,
       with("job.heavy.iodepth", R"(["1"])") + "\n[[axis]]\nkey = \"job.heavy.iodepth\"\n"
                                               "values = [\"2\"]\n",
       {"50:7: there is an axis of \"job.heavy.iodepth\" already"}},
  });
}

}  // namespace
}  // namespace blkfair
