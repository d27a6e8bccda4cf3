// The scenario as plain values: what the reader makes of a TOML file, with every default filled in.
// No invariants beyond those the reader checked; copied freely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace blkfair {

struct QueueRef {
  std::string fixture;
  uint32_t index = 0;
  std::string Name() const { return fixture + ":" + std::to_string(index); }
  bool operator==(const QueueRef&) const = default;
};

enum class Rw : uint8_t { kRead, kWrite, kRandRead, kRandWrite, kRw, kRandRw, kTrim, kRandTrim };
constexpr bool IsRandom(Rw rw) {
  return rw == Rw::kRandRead || rw == Rw::kRandWrite || rw == Rw::kRandRw || rw == Rw::kRandTrim;
}
constexpr bool Trims(Rw rw) { return rw == Rw::kTrim || rw == Rw::kRandTrim; }
constexpr bool Reads(Rw rw) { return rw != Rw::kWrite && rw != Rw::kRandWrite && !Trims(rw); }
constexpr bool Writes(Rw rw) { return rw != Rw::kRead && rw != Rw::kRandRead && !Trims(rw); }
std::string_view RwName(Rw rw);

// How trims reach the kernel: one ioctl(BLKDISCARD) at a time, or as the engine's own requests.
enum class TrimWay : uint8_t { kIoctl, kAsync };
std::string_view TrimWayName(TrimWay way);

enum class Isolation : uint8_t { kThread, kProcess };
std::string_view IsolationName(Isolation isolation);

enum class RateProcess : uint8_t { kFixed, kPoisson };
std::string_view RateProcessName(RateProcess process);

struct FixtureSpec {
  std::string name;
  std::string kind;     // "null_blk", "sim", ...
  ParamValues params;   // of that kind's table
  uint32_t queues = 0;  // how many queues it will make
  bool operator==(const FixtureSpec&) const = default;
};

struct JobSpec {
  std::string name;
  QueueRef queue;
  Rw rw = Rw::kRandRead;
  uint32_t rwmixread_percent = 50;
  uint64_t bs_bytes = 4096;
  uint32_t iodepth = 1;
  uint32_t batch_submit = 1;
  uint32_t batch_complete = 1;
  uint32_t numjobs = 1;
  std::string engine;
  TrimWay trim = TrimWay::kIoctl;            // jobs that trim only
  Isolation isolation = Isolation::kThread;  // of each clone
  bool direct = true;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;  // 0: to the end of the queue
  uint64_t seed = 0;        // of this job; mixed with the scenario's seed
  double rate_iops = 0;     // of each clone; 0: a closed loop, as fast as completions allow
  RateProcess rate_process = RateProcess::kFixed;
  int64_t think_time_ns = 0;   // pause between a completion and the next I/O of that slot
  int64_t start_delay_ns = 0;  // after the phase's start barrier
  std::vector<uint32_t> cpus;  // that its threads may run on; empty: as blkfair itself
  int32_t nice = 0;            // 0: as blkfair itself
  std::string ioprio = "none";
  ParamValues engine_params;  // of that engine's table
  bool operator==(const JobSpec&) const = default;
};

// One key of a job that a phase sets.
struct JobSetting {
  std::string job;
  std::string key;
  std::string value;  // as TOML
  bool operator==(const JobSetting&) const = default;
};

struct PhaseSpec {
  std::string name;
  std::vector<std::string> jobs;
  std::vector<JobSetting> settings;
  std::vector<JobSpec> changed_jobs;  // the jobs with settings, as they are in this phase
  std::string sweep_of;               // the sweep that it is a step of, if any
  int64_t settle_ns = 0;              // at most so long until active_queues is as expected
  int64_t ramp_ns = 0;
  int64_t runtime_ns = 0;
  bool solo = false;  // one job alone: made by `solo = [...]`, or with a single job in `jobs`
  bool operator==(const PhaseSpec&) const = default;
};

enum class Contention : uint8_t { kRequired, kAbsent, kAny };
std::string_view ContentionName(Contention contention);

struct AssertSpec {
  std::string name;
  std::string kind;                 // "share", "slowdown", ...
  std::vector<std::string> phases;  // judged in each of these
  Contention contention = Contention::kRequired;
  ParamValues params;  // of that kind's table
  bool operator==(const AssertSpec&) const = default;
};

// A figure that a comparison decides by; of Catalog::comparison's table.
struct CompareSpec {
  ParamValues params;
  bool operator==(const CompareSpec&) const = default;
};

// One axis of the grid that `blkfair matrix` runs a scenario over; no other command looks at it.
struct AxisSpec {
  std::string key;  // as in --set, and so are its values
  std::vector<std::string> values;
  bool operator==(const AxisSpec&) const = default;
};

struct GuestSpec {
  uint32_t vcpus = 1;
  uint64_t memory_bytes = uint64_t{1024} << 20;
  bool operator==(const GuestSpec&) const = default;
};

struct Scenario {
  std::string name;
  std::string situation;
  std::string expectation;
  std::string why;
  uint64_t seed = 1;
  uint32_t repeat = 1;  // whole runs
  GuestSpec guest;
  int64_t window_ns = 100'000'000;             // of the time series
  int64_t occupancy_interval_ns = 50'000'000;  // between two samples of tag occupancy
  std::vector<FixtureSpec> fixtures;
  std::vector<JobSpec> jobs;
  std::vector<PhaseSpec> phases;
  std::vector<AssertSpec> asserts;
  std::vector<CompareSpec> compares;
  std::vector<AxisSpec> axes;

  const FixtureSpec* FindFixture(std::string_view name) const;
  const JobSpec* FindJob(std::string_view name) const;
  const PhaseSpec* FindPhase(std::string_view name) const;
  // A job as it is in a phase; null where the phase has no such job.
  const JobSpec* JobInPhase(const PhaseSpec& phase, std::string_view job) const;
  const JobSpec* JobInPhase(std::string_view phase, std::string_view job) const;
  // The first phase in which `job` runs alone, with the same keys as in the phase `as_in`; or null.
  const PhaseSpec* SoloPhaseOf(std::string_view job, std::string_view as_in) const;
  // From the start of a phase until the last of its jobs has started; its ramp begins there.
  int64_t LastStartNs(const PhaseSpec& phase) const;
  // Longest time that the phases may take, settling included; ns.
  int64_t LengthNs() const;
  bool operator==(const Scenario&) const = default;
};

}  // namespace blkfair
