// Clocks. A clock belongs to one thread, is monotonic, and shares no mutable state with another.
// Code that takes time is templated on (or given) its clock, so that the sim executor and the tests
// can hand it virtual time.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace blkfair {

// CLOCK_MONOTONIC, in nanoseconds.
class MonotonicClock {
 public:
  int64_t NowNs() const {
    timespec ts;
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
  }
};

// Virtual time that its owner sets. One writer; jobs hold a pointer to it.
class ManualClock {
 public:
  int64_t NowNs() const { return now_ns_; }
  void Set(int64_t now_ns) { now_ns_ = now_ns; }

 private:
  int64_t now_ns_ = 0;
};

// A copyable view of a ManualClock, with the same interface as the others.
class ManualClockView {
 public:
  explicit ManualClockView(const ManualClock* clock) : clock_(clock) {}
  int64_t NowNs() const { return clock_->NowNs(); }

 private:
  const ManualClock* clock_;
};

// What the record says about the clock of a run.
struct ClockFacts {
  std::string source;       // "CLOCK_MONOTONIC" or "virtual"
  double read_cost_ns = 0;  // mean over a short loop on this clock
  std::string clocksource;  // the kernel's current_clocksource; empty where there is none
};

}  // namespace blkfair
