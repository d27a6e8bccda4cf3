// RunClock: which clock the jobs of a run read, and what is known about it. The TSC where it is
// proven to be invariant, synchronised and as fast as CLOCK_MONOTONIC_RAW says; CLOCK_MONOTONIC
// everywhere else. Chosen once, before the run, and looked at again after it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/clock_watch.h"
#include "base/kernel_fs.h"

namespace blkfair {

// What the record says about the clock of a run.
struct ClockFacts {
  std::string source;       // "TSC", "CLOCK_MONOTONIC" or "virtual"
  std::string why;          // why that one
  double read_cost_ns = 0;  // mean over a short loop on this clock
  // Whether a read needs no system call. Absent where that could not be found out.
  std::optional<bool> in_user_space;
  // What it gained on CLOCK_MONOTONIC_RAW since it was chosen, in parts per million. Absent while
  // too little time has passed to tell.
  std::optional<double> drift_ppm;
  std::string suspect;  // what is wrong with it, found when it was looked at; empty when nothing is
};

class RunClock {
 public:
  static RunClock Choose(const KernelFs& fs);
  // The TSC, whatever the CPU and the kernel say of it: for measurements of the harness itself.
  static RunClock ForceTsc();

  // For one phase: it agrees with CLOCK_MONOTONIC now.
  JobClock StartPhase() const;
  // As it is now: asked after the run, this is the end check.
  ClockFacts Facts() const;

 private:
  RunClock(std::optional<TickScale> tsc, std::string why);

  std::optional<TickScale> tsc_;
  std::string why_;
  JobClock clock_;  // goes on from the choice, so that its drift can be told
  std::optional<ClockPair> chosen_at_;
};

// The sentence for a clock that gained too much in `elapsed_ns`; empty when it did not.
std::string WhySuspect(std::string_view source, int64_t gained_ns, int64_t elapsed_ns);

// Whether clock_gettime(CLOCK_MONOTONIC) is answered by the vDSO alone. Absent where it cannot be
// found out (a kernel without seccomp).
std::optional<bool> MonotonicStaysInUserSpace();

}  // namespace blkfair
