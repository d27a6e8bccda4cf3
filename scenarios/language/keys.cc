#include "scenarios/language/keys.h"

namespace blkfair {

namespace {

constexpr double kDayNs = 86'400e9;
constexpr double kMillisecondNs = 1e6;
constexpr double kMiB = 1 << 20;
constexpr double kTiB = static_cast<double>(int64_t{1} << 40);

constexpr ParamSpec kScenarioKeys[] = {
    {.name = "name", .required = true, .help = "Name of the scenario, also in result folders"},
    {.name = "situation", .required = true, .help = "What is set up and who does what, in prose"},
    {.name = "expectation", .required = true, .help = "What a fair kernel does, in prose"},
    {.name = "why", .required = true, .help = "Why it matters, in prose"},
    {.name = "seed",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 0,
     .help = "Seed of everything random in a run"},
    {.name = "repeat",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 1,
     .max = 1000,
     .help = "Whole runs (in a guest: boots) that are judged together, each with random numbers of "
             "its own"},
    {.name = "window",
     .type = ParamType::kDuration,
     .default_text = "100ms",
     .min = kMillisecondNs,
     .max = kDayNs,
     .help = "Length of one window of the time series"},
    {.name = "occupancy_interval",
     .type = ParamType::kDuration,
     .default_text = "50ms",
     .min = kMillisecondNs,
     .max = kDayNs,
     .help = "Time between two samples of the tag occupancy"},
    {.name = "contention",
     .type = ParamType::kChoice,
     .default_text = "required",
     .choices = "required|absent|any",
     .help =
         "Whether assertions need contention to have been seen, need it not to have been, or do "
         "not care"},
};

constexpr ParamSpec kGuestKeys[] = {
    {.name = "vcpus",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 1,
     .max = 64,
     .help = "Virtual CPUs of the guest; only 1 repeats exactly in virtual time"},
    {.name = "memory",
     .type = ParamType::kSize,
     .default_text = "1GiB",
     .min = 128 * kMiB,
     .max = kTiB,
     .help = "Memory of the guest"},
};

constexpr ParamSpec kFixtureKeys[] = {
    {.name = "name",
     .required = true,
     .help = "Name of the fixture; its queues are NAME:0, NAME:1"},
    {.name = "kind",
     .required = true,
     .help = "What it sets up; the kind decides on the other keys"},
};

constexpr ParamSpec kJobKeys[] = {
    {.name = "name", .required = true, .help = "Name of the job"},
    {.name = "queue",
     .required = true,
     .help = "The queue that it reads or writes, as \"FIXTURE:INDEX\"",
     .refers = ParamRef::kQueue},
    {.name = "rw",
     .type = ParamType::kChoice,
     .default_text = "randread",
     .choices = "read|write|randread|randwrite|rw|randrw|trim|randtrim",
     .help = "Pattern: sequential or random, reading, writing or both, or discarding"},
    {.name = "rwmixread",
     .type = ParamType::kInt,
     .default_text = "50",
     .min = 0,
     .max = 100,
     .help = "Percentage of reads; only with rw and randrw"},
    {.name = "trim",
     .type = ParamType::kChoice,
     .default_text = "ioctl",
     .choices = "ioctl|async",
     .help = "Only with rw = trim and randtrim: one ioctl(BLKDISCARD) at a time, which is "
             "synchronous in every engine, or requests of the engine, where it has them"},
    {.name = "bs",
     .type = ParamType::kSize,
     .default_text = "4KiB",
     .min = 1,
     .max = 1024 * kMiB,
     .help = "Bytes of one I/O"},
    {.name = "iodepth",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 1,
     .max = 32768,
     .help = "I/Os kept in flight by each clone"},
    {.name = "batch_submit",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 1,
     .max = 32768,
     .help = "I/Os handed to the kernel in one call, once so many slots are free"},
    {.name = "batch_complete",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 1,
     .max = 32768,
     .help = "Completions waited for in one call"},
    {.name = "numjobs",
     .type = ParamType::kInt,
     .default_text = "1",
     .min = 1,
     .max = 1024,
     .help = "Clones of the job, each with its own iodepth; 262144 I/Os in flight in all at most"},
    {.name = "engine",
     .help =
         "How I/O is submitted; sim on the queues of a sim fixture, else io_uring, unless given; "
         "the engine adds keys of its own"},
    {.name = "isolation",
     .type = ParamType::kChoice,
     .default_text = "thread",
     .choices = "thread|process",
     .help = "Whether each clone is a thread or a process of its own"},
    {.name = "direct",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Pass by the page cache (O_DIRECT)"},
    {.name = "offset",
     .type = ParamType::kSize,
     .default_text = "0B",
     .min = 0,
     .help = "Where on the queue the job's area starts; a multiple of bs"},
    {.name = "size",
     .type = ParamType::kSize,
     .min = 0,
     .help = "Bytes of the job's area; to the end of the queue unless given"},
    {.name = "seed",
     .type = ParamType::kInt,
     .default_text = "0",
     .min = 0,
     .help = "Seed of the job's offsets, mixed with the scenario's"},
    {.name = "rate_iops",
     .type = ParamType::kNumber,
     .min = 0.001,
     .max = 1e7,
     .help = "I/Os that each clone begins in a second, whether earlier ones have completed or not; "
             "unless given, each completion makes room for the next"},
    {.name = "rate_process",
     .type = ParamType::kChoice,
     .default_text = "fixed",
     .choices = "fixed|poisson",
     .help = "With rate_iops: at equal distances, or at random (a Poisson process)"},
    {.name = "think_time",
     .type = ParamType::kDuration,
     .default_text = "0s",
     .min = 0,
     .max = kDayNs,
     .help = "Pause between a completion and the next I/O of the same slot"},
    {.name = "start_delay",
     .type = ParamType::kDuration,
     .default_text = "0s",
     .min = 0,
     .max = kDayNs,
     .help = "Time from the start of the phase to the job's first I/O; the ramp begins when all "
             "jobs of the phase have started"},
    {.name = "cpus",
     .type = ParamType::kInt,
     .shape = ParamShape::kList,
     .min = 0,
     .max = 1023,
     .help = "The CPUs that the job's threads may run on; as blkfair itself unless given"},
    {.name = "nice",
     .type = ParamType::kInt,
     .default_text = "0",
     .min = -20,
     .max = 19,
     .help = "The niceness of the job's threads; 0 leaves it as it is"},
    {.name = "ioprio",
     .type = ParamType::kChoice,
     .default_text = "none",
     .choices = "none|idle|be/0|be/1|be/2|be/3|be/4|be/5|be/6|be/7|rt/0|rt/1|rt/2|rt/3|rt/4|rt/5|"
                "rt/6|rt/7",
     .help = "The I/O priority of the job's threads: class and level; none leaves it as it is"},
};

constexpr ParamSpec kPhaseKeys[] = {
    {.name = "name", .required = true, .help = "Name of the phase; not with solo"},
    {.name = "jobs",
     .shape = ParamShape::kList,
     .required = true,
     .help = "The jobs that start together; not with solo",
     .refers = ParamRef::kJob},
    {.name = "solo",
     .shape = ParamShape::kList,
     .help = "Instead of name and jobs: one phase for each of these jobs alone, named solo_JOB",
     .refers = ParamRef::kJob},
    {.name = "set",
     .type = ParamType::kTable,
     .help = "Keys of jobs that differ in this phase: { \"job.NAME.KEY\" = VALUE }, or KEY for all "
             "jobs of the phase"},
    {.name = "sweep",
     .type = ParamType::kTable,
     .help = "As set, with a list for each KEY: one phase for each value, or for each combination, "
             "named PHASE_VALUE; \"32..1\" is a range"},
    {.name = "sweep_of", .help = "The sweep that the phase is a step of; sweep writes it"},
    {.name = "settle",
     .type = ParamType::kDuration,
     .default_text = "10s",
     .min = 0,
     .max = kDayNs,
     .help = "Longest time to wait until the queues are idle again before the phase"},
    {.name = "ramp",
     .type = ParamType::kDuration,
     .default_text = "1s",
     .min = 0,
     .max = kDayNs,
     .help = "Time that the jobs run, all of them, before measuring starts"},
    {.name = "runtime",
     .type = ParamType::kDuration,
     .required = true,
     .min = 1,
     .max = kDayNs,
     .help = "Time that is measured"},
};

constexpr ParamSpec kAssertKeys[] = {
    {.name = "name", .help = "Name of the assertion; made from its kind unless given"},
    {.name = "kind",
     .required = true,
     .help = "The rule that is applied; the kind decides on the other keys"},
    {.name = "phase",
     .help = "The phase that is judged; this or phases is required",
     .refers = ParamRef::kPhase},
    {.name = "phases",
     .shape = ParamShape::kList,
     .help = "The phases that are judged, each for itself",
     .refers = ParamRef::kPhase},
    {.name = "contention",
     .type = ParamType::kChoice,
     .choices = "required|absent|any",
     .help = "As at the top of the file, whose value holds unless given"},
};

constexpr ParamSpec kAxisKeys[] = {
    {.name = "key", .required = true, .help = "A key of the scenario, written as in --set"},
    {.name = "values",
     .shape = ParamShape::kList,
     .required = true,
     .help = "Its values, each written as in --set"},
};

}  // namespace

std::span<const ParamSpec> ScenarioKeys() { return kScenarioKeys; }
std::span<const ParamSpec> GuestKeys() { return kGuestKeys; }
std::span<const ParamSpec> FixtureKeys() { return kFixtureKeys; }
std::span<const ParamSpec> JobKeys() { return kJobKeys; }
std::span<const ParamSpec> PhaseKeys() { return kPhaseKeys; }
std::span<const ParamSpec> AssertKeys() { return kAssertKeys; }
std::span<const ParamSpec> AxisKeys() { return kAxisKeys; }

}  // namespace blkfair
