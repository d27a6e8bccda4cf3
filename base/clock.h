// Clocks. A clock belongs to one thread, is monotonic, and shares no mutable state with another: a
// value is read, converted and returned, and nothing is remembered. Code that takes time is
// templated on (or given) its clock, so that the sim executor and the tests can hand it virtual
// time, and so that the hot loop makes no virtual call for it. base/run_clock.h chooses one.
#pragma once

#include <cstdint>
#include <ctime>
#include <variant>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace blkfair {

inline int64_t ReadClockNs(clockid_t id) {
  timespec ts;
  ::clock_gettime(id, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

// CLOCK_MONOTONIC, in nanoseconds.
class MonotonicClock {
 public:
  int64_t NowNs() const { return ReadClockNs(CLOCK_MONOTONIC); }
};

// How ticks become nanoseconds: ticks * multiplier / 2^32, by one multiplication and one shift of
// 128 bits, which no number of ticks overflows.
struct TickScale {
  static constexpr unsigned kShift = 32;
  int64_t multiplier = 0;

  // The scale by which `ticks` (> 0) are `ns` (> 0).
  static constexpr TickScale Of(uint64_t ticks, int64_t ns) {
    return {static_cast<int64_t>((Wide{ns} << kShift) / static_cast<Wide>(ticks))};
  }
  constexpr int64_t ToNs(int64_t ticks) const {
    return static_cast<int64_t>((Wide{ticks} * multiplier) >> kShift);
  }
  constexpr double TicksPerSecond() const {
    return 1e9 * static_cast<double>(int64_t{1} << kShift) / static_cast<double>(multiplier);
  }

 private:
  // ISO C++ has no such type: hence the marker.
  __extension__ using Wide = __int128;
};

// A free-running 64-bit counter as a clock, from a moment at which its time was known on. The
// counter may wrap at 64 bits, and a read on another CPU may lie before that moment.
template <typename SourceT>
class TickClock {
 public:
  TickClock(SourceT source, TickScale scale, uint64_t at_ticks, int64_t at_ns)
      : source_(source), scale_(scale), at_ticks_(at_ticks), at_ns_(at_ns) {}

  int64_t NowNs() const {
    const uint64_t ticks = source_.Ticks();
#ifdef BLKFAIR_MUTATION_SHARED_LAST_TICKS
    // The mistake that the stress test must catch: a thread that is pre-empted between the two
    // lines finds a later value of another thread and takes it for a wrap.
    if (ticks < shared_last_ticks_) shared_wraps_ns_ = shared_wraps_ns_ + 1'000'000'000;
    shared_last_ticks_ = ticks;
    return at_ns_ + shared_wraps_ns_ + scale_.ToNs(static_cast<int64_t>(ticks - at_ticks_));
#else
    return at_ns_ + scale_.ToNs(static_cast<int64_t>(ticks - at_ticks_));
#endif
  }

 private:
#ifdef BLKFAIR_MUTATION_SHARED_LAST_TICKS
  static inline volatile uint64_t shared_last_ticks_ = 0;
  static inline volatile int64_t shared_wraps_ns_ = 0;
#endif
  [[no_unique_address]] SourceT source_;
  TickScale scale_;
  uint64_t at_ticks_;
  int64_t at_ns_;
};

// The time stamp counter. LFENCE; RDTSC: no instruction after LFENCE begins before all earlier ones
// are executed and all earlier loads have their values (Intel SDM; on AMD with the mode that Linux
// sets, arch/x86/kernel/cpu/amd.c), so that a completion is stamped after the ring's tail that
// showed it was read, and a submission after its system call. RDTSCP gives the same order and is an
// instruction less, but hypervisors may hide it (seen under KVM) and it then faults; a bare RDTSC
// may be executed before the load that it is to time.
struct TscTicks {
#if defined(__x86_64__)
  static constexpr bool kExists = true;
  uint64_t Ticks() const {
    _mm_lfence();
    return __rdtsc();
  }
#else
  static constexpr bool kExists = false;
  uint64_t Ticks() const { return 0; }  // never chosen
#endif
};
using TscClock = TickClock<TscTicks>;

// The clock of the jobs of one phase. Both agree with CLOCK_MONOTONIC when the phase begins.
using JobClock = std::variant<MonotonicClock, TscClock>;
inline int64_t ReadNs(const JobClock& clock) {
  return std::visit([](const auto& c) { return c.NowNs(); }, clock);
}

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

}  // namespace blkfair
