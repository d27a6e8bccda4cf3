// Record: what one run observed. Complete (it can be judged again anywhere, as any user) and free
// of judgement. Plain values. Absent metrics are empty optionals, never zeros. All times are
// nanoseconds; times within a phase count from the phase's start barrier.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/latency.h"

namespace blkfair {

inline constexpr int kRecordSchema = 1;

// I/O of one direction within the window.
struct DirectionRecord {
  std::string direction;  // "read" | "write"; "trim" alone
  uint64_t ios = 0;       // completed without error, in the window
  uint64_t bytes = 0;
  std::optional<LatencyStats> slat;  // absent where the engine does not measure it
  LatencyStats clat;
  LatencyStats lat;
  // Open loop: from when the I/O was due to its completion.
  std::optional<LatencyStats> response = {};
};

// No data moves in a trim, so that trims are never added to reads and writes.
inline bool IsTrim(const DirectionRecord& record) { return record.direction == "trim"; }

// One cell of a time series: completions between its start and series_cell_ns later.
struct SeriesCell {
  uint64_t ios = 0;
  uint64_t bytes = 0;
  uint64_t lat_sum_ns = 0;
  int64_t lat_max_ns = 0;
  uint32_t in_flight = 0;  // at the end of the cell
  bool operator==(const SeriesCell&) const = default;
};

// I/Os that have been going on for at least so many ns (a bucket's lower end), as (ns, I/Os).
using Ages = std::vector<std::pair<int64_t, uint64_t>>;  // ascending

// I/Os in flight at one moment: of their latencies nothing is known but that they are longer.
struct UnfinishedRecord {
  Ages lat;       // since they were made
  Ages clat;      // since they were issued; not of those that were still being submitted
  Ages response;  // open loop: since they were due; at the close, of those not begun as well
};

// How a job of a given rate kept it. All numbers are of the window.
struct OpenLoopRecord {
  double rate_iops = 0;  // offered by each clone
  std::string process;   // "fixed" | "poisson"
  uint64_t due = 0;      // I/Os that were to begin
  uint64_t late = 0;     // of them, those that found no free slot when they were due
  uint64_t backlog_max = 0;
  uint64_t backlog_at_close = 0;  // due and not begun
  // Time in which an I/O had been due for more than one mean interval, a slot was free, and the
  // generator had not begun it.
  int64_t behind_ns = 0;
};

struct JobRecord {
  std::string job;     // name in the scenario
  uint32_t clone = 0;  // 0 .. numjobs-1
  std::string queue;   // "FIXTURE:INDEX"
  std::string engine;
  std::string issue_point;  // where issue is stamped: IssueRule::doc
  uint32_t iodepth = 0;
  std::optional<OpenLoopRecord> open_loop;  // of a job with a rate
  std::vector<DirectionRecord> directions;  // only those the job uses
  std::vector<SeriesCell> series;           // the whole phase from the barrier on, ramp included
  int64_t gap_max_ns = 0;                   // longest time in the window without a completion
  int64_t gap_max_at_ns = 0;                // when it began
  bool gap_censored = false;                // that gap was still going on when the window closed
  uint64_t ios_trimmed = 0;                 // completed in the ramp, before the window
  uint64_t ios_drained = 0;                 // completed after the window
  uint32_t in_flight_at_close = 0;
  UnfinishedRecord unfinished_at_open;
  UnfinishedRecord unfinished_at_close;
  uint32_t outstanding = 0;  // never came back within the drain limit: an error
  double depth_mean = 0;     // time mean of I/Os in flight in the window
  uint32_t depth_max = 0;
  uint64_t submit_calls = 0;  // in the window
  // I/Os handed over in one call, and how many of the calls did so.
  std::vector<std::pair<uint32_t, uint64_t>> submit_sizes;
  uint64_t reap_calls = 0;
  uint64_t clock_anomalies = 0;  // negative or impossible deltas, counted and left out
  // "read EIO" -> count; short I/O is "read short", page cache not written back "sync EIO".
  std::map<std::string, uint64_t> errors;
  std::string cpus;    // that its thread was allowed to run on, read back: "0-3,8"; empty for sim
  int32_t nice = 0;    // read back
  std::string ioprio;  // read back: "none", "idle", "be/4", "rt/0"
  std::string ended_early;  // how its worker died or broke; empty when it did not
  int64_t cpu_user_ns = 0;  // of the job's thread, whole phase
  int64_t cpu_system_ns = 0;
  uint64_t switches_voluntary = 0;
  uint64_t switches_involuntary = 0;
};

// Sampled tag occupancy of one queue.
struct OccupancyRecord {
  std::string source;  // "active", "busy", "sim", ... : which source `tags` is from
  std::string why;     // why that source
  uint32_t samples = 0;
  std::optional<double> mean;  // time mean of tags held
  std::optional<double> p95;
  std::optional<uint32_t> max;
  std::optional<double> active_mean;  // debugfs `active`, where readable
  std::optional<double> busy_mean;    // entries of debugfs `busy`
  std::optional<double> waiters_mean;
  double at_limit_fraction = 0;  // samples in which the queue held its limit (share or set)
  // Requests in flight by Little's law, throughput x service, from the kernel's own counters: a
  // source that has nothing to do with the others. Absent where requests exist without a tag.
  std::optional<double> service_mean;
  // Time mean of I/Os that wait for a tag: those in flight less the tags held. Inferred, since the
  // kernel counts them nowhere.
  std::optional<double> waiting_mean;
};

// What the kernel counted of one direction between two readings of /sys/block/DISK/stat.
struct KernelCountsRecord {
  std::string direction;  // "read", "write", "trim"
  uint64_t requests = 0;  // completed; one I/O may be several, or a part of one
  uint64_t merges = 0;
  uint64_t bytes = 0;
  int64_t time_ns = 0;  // summed over the requests, from their making to their completion
};

struct KernelCountersRecord {
  int64_t open_at_ns = 0;  // when they were read, as the window opened and as it closed
  int64_t close_at_ns = 0;
  uint32_t in_flight_at_open = 0;  // by the kernel's count
  uint32_t in_flight_at_close = 0;
  bool time_is_tag_time = false;  // no scheduler: a request has its tag for all of its time
  std::vector<KernelCountsRecord> counts;
};

struct QueueRecord {
  std::string queue;    // "FIXTURE:INDEX"
  uint32_t demand = 0;  // sum over its jobs of iodepth * numjobs
  uint64_t ios = 0;     // in the window, all jobs but those that trim
  uint64_t bytes = 0;
  int64_t gap_max_ns = 0;          // longest time without a completion of any job
  std::vector<SeriesCell> series;  // sum of these jobs
  std::optional<OccupancyRecord> occupancy;
  std::optional<KernelCountersRecord> kernel;
  std::string kernel_absent;  // why there are none of them; empty when there are
  // Waits for a tag in the window, by the tracepoint block_rq_tag_wait; absent where there is none.
  std::optional<uint64_t> tag_waits;
};

// What the sampling of tag occupancy cost.
struct SamplingRecord {
  uint32_t samples = 0;      // taken, in the window or not
  int64_t cpu_ns = 0;        // processor time of the sampler's thread
  int64_t time_mean_ns = 0;  // of one sample
  int64_t time_max_ns = 0;
  std::string cpus;  // that it was allowed to run on; away from the jobs' where they name theirs
};

// The tag set of one fixture during one phase.
struct TagSetPhaseRecord {
  std::string fixture;
  uint32_t demand = 0;       // of all its queues
  uint32_t usable_tags = 0;  // nr_tags - reserved (of one queue's set when not shared)
  uint32_t samples = 0;
  uint32_t samples_contended = 0;  // a queue with more demand sat at its limit, or waiters seen
  std::optional<double> active_queues_mean;
  std::optional<uint32_t> wake_batch;  // last seen
};

struct PhaseRecord {
  std::string name;
  bool solo = false;
  bool partial = false;   // cut short: the window is shorter than asked
  int64_t settle_ns = 0;  // how long settling took
  int64_t nudge_ns = 0;   // the start was moved by so much: a function of the seed
  bool settled = true;    // active_queues reached what was expected
  int64_t window_open_ns = 0;
  int64_t window_close_ns = 0;
  int64_t series_cell_ns = 100'000'000;  // length of one cell of every series
  std::vector<JobRecord> jobs;           // in the scenario's order, clones in theirs
  std::vector<QueueRecord> queues;
  std::vector<TagSetPhaseRecord> tag_sets;
  std::optional<SamplingRecord> sampling;  // absent where no thread samples: sim

  int64_t window_ns() const { return window_close_ns - window_open_ns; }
  const QueueRecord* FindQueue(std::string_view queue) const;
  const TagSetPhaseRecord* FindTagSet(std::string_view fixture) const;
};

// A setting of this name is a sentence for people: something that weakens the record.
inline constexpr std::string_view kNoteSetting = "note";

struct FixtureRecord {
  std::string name;
  std::string kind;
  bool shared = false;
  uint32_t nr_tags = 0;
  uint32_t nr_reserved_tags = 0;
  uint32_t nr_hw_queues = 0;
  std::vector<std::pair<std::string, std::string>> settings;
};

// One thing about a machine that a reviewer asks after: "kasan" = "off", "pair.scheduler" = "none".
struct AuditFinding {
  std::string name;  // of a fixture's setting: as in --set, without "fixture."
  std::string value;
  std::string warning;  // why it weakens the figures, as a sentence; empty: it does not
  bool operator==(const AuditFinding&) const = default;
};

struct EnvironmentRecord {
  std::string executor;            // "guest" | "host" | "sim"
  std::string time;                // "virtual" | "real" | "simulated"
  std::string kernel_release;      // uname -r; empty for sim
  std::string kernel_version;      // uname -v
  std::string kernel_config_hash;  // SHA-256 of /proc/config.gz or of the kernel's config file
  std::string kernel_command_line;
  uint32_t cpus = 0;
  uint64_t memory_bytes = 0;
  std::string cpu_model;
  std::string cpu_idle;       // cpuidle's governor; empty where there is none
  std::string cpu_frequency;  // cpufreq's governor and driver, "schedutil (acpi-cpufreq)"; likewise
  std::string clock;          // "TSC", "CLOCK_MONOTONIC" or "virtual"
  std::string clock_why;      // why that one
  std::string clocksource;
  double clock_read_cost_ns = 0;
  std::optional<bool> clock_in_user_space;  // a read needs no system call
  // What the clock gained on CLOCK_MONOTONIC_RAW over the run, in parts per million.
  std::optional<double> clock_drift_ppm;
  std::string clock_suspect;  // what the end check found wrong with it; empty when nothing
  // How long a kernel that had just booted was waited for, and whether it came to rest; absent
  // where nothing was booted for the run.
  std::optional<int64_t> boot_wait_ns;
  std::optional<bool> boot_work_ended;
  std::vector<AuditFinding> audit;  // of the kernel under the jobs, and of its machine
};

struct EventRecord {
  int64_t at_ns = 0;  // since the run began, on the run's clock
  std::string text;
};

enum class RunOutcome : uint8_t {
  kDied,  // nobody said otherwise: how every record begins
  kComplete,
  kInterrupted,
  kUnmet,  // a requirement is missing: `outcome_why` names it
  kError,  // set-up, a worker or restore failed: `outcome_why` says how
};

// "died", "complete", "interrupted", "unmet", "error".
std::string_view RunOutcomeName(RunOutcome outcome);

// What the host of the run saw. Everything in it, and nothing outside it, may differ between two
// runs of the same arguments under virtual time.
struct HostRecord {
  std::string started;  // ISO 8601, UTC
  double wall_seconds = 0;
  std::string kernel;  // as asked: "debian:6.12", a path
  std::string kernel_file;
  // Of a kernel that blkfair built: what it was made from, in the order of its manifest; the same
  // key may come several times.
  std::vector<std::pair<std::string, std::string>> kernel_origin;
  std::string machine;  // uname -m, CPU model and count of the host
  std::string qemu_version;
  std::vector<std::string> qemu_arguments;
  std::vector<std::string> failed_boots;  // one sentence per boot that showed no life
  std::string work_folder;
  std::vector<AuditFinding> audit;  // of the machine that a guest ran on
};

struct Record {
  int schema = kRecordSchema;
  std::string tool_version;
  std::string scenario_name;
  std::string scenario_hash;
  std::string scenario_toml;  // canonical
  uint64_t seed = 0;          // of the scenario
  uint32_t repeat = 1;        // which whole run; with the seed it decides on everything random
  RunOutcome outcome = RunOutcome::kDied;
  std::string outcome_why;
  EnvironmentRecord environment;
  std::vector<FixtureRecord> fixtures;
  std::vector<PhaseRecord> phases;
  std::vector<EventRecord> events;
  HostRecord host;

  const PhaseRecord* FindPhase(const std::string& name) const;
  const FixtureRecord* FindFixture(std::string_view name) const;
};

}  // namespace blkfair
