// PhaseExecutor: runs the jobs of one phase together and hands back what each of them observed. The
// thread executor gives every job a thread of its own and real time; the sim executor drives all
// jobs from one event queue in virtual time. Used by the orchestrator's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/queue.h"
#include "base/result.h"
#include "base/run_clock.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// One clone of one job on its queue.
struct JobPlan {
  const JobSpec* spec = nullptr;
  uint32_t clone = 0;
  const Queue* queue = nullptr;
  uint64_t seed = 0;  // of this clone: a pure function of scenario seed, job and clone
};

struct PhasePlan {
  std::vector<JobPlan> jobs;
  int64_t ramp_ns = 0;
  int64_t runtime_ns = 0;
  int64_t series_cell_ns = 100'000'000;
  int64_t sample_interval_ns = 0;  // 0: `sample` is not called
  int64_t drain_limit_ns = 25'000'000'000;
};

// When sample `index` is due, since the barrier: one in every interval, at a moment that wanders
// within it, so that samples never fall into step with a periodic device.
constexpr int64_t SampleMomentNs(uint64_t index, int64_t interval_ns) {
  const auto interval = static_cast<uint64_t>(interval_ns);
  return static_cast<int64_t>(index * interval + Mix64(index) % interval);
}

struct PhaseHooks {
  // Polled at least every 100 ms: true ends the phase early (what was measured is kept).
  std::function<bool()> interrupted;
  // About every 500 ms, from the orchestrator's thread; time since the start barrier.
  std::function<void(int64_t elapsed_ns)> progress;
  // Once in every sample_interval_ns (see SampleMomentNs) until the window closes: on a thread of
  // its own for the thread executor, from the event queue for sim. `at_ns` counts from the barrier.
  std::function<void(int64_t at_ns)> sample;
  // As the window opens and as it closes, from a thread of their own, so that no sample holds them
  // up; not for sim, and not when the phase was cut short before.
  std::function<void(int64_t at_ns)> window_opens;
  std::function<void(int64_t at_ns)> window_closes;
};

struct PhaseResult {
  std::vector<JobRecord> jobs;  // as in the plan
  int64_t window_open_ns = 0;   // since the barrier
  int64_t window_close_ns = 0;
  bool interrupted = false;
  bool cut_short = false;                  // the window closed before it was to
  std::optional<SamplingRecord> sampling;  // where a thread of its own samples
  // A worker broke or died, named here: the window was closed for all, and what was measured until
  // then is there.
  std::optional<Error> broken;
};

class PhaseExecutor {
 public:
  virtual ~PhaseExecutor() = default;

  // Opens every engine first: if one fails, none starts, and its error is returned.
  virtual Result<PhaseResult> RunPhase(const PhasePlan& plan, const PhaseHooks& hooks) = 0;

  // The run's own clock, for settling and events.
  virtual int64_t NowNs() const = 0;
  // False when interrupted() said so.
  virtual bool Sleep(int64_t ns, const std::function<bool()>& interrupted) = 0;
  // What is known of the jobs' clock now; after the run, this is its end check.
  virtual ClockFacts clock_facts() const = 0;
};

}  // namespace blkfair
