// ClockWatch: compares a job's clock with CLOCK_MONOTONIC_RAW while the job runs, ten times a
// second or so, and says when it has stepped. Owned and used by the job's thread. What a clock
// does between two looks is seen at the next one, since a step stays.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/clock.h"

namespace blkfair {

class ClockWatch {
 public:
  virtual ~ClockWatch() = default;
  // Whether the clock has stepped since the last call, or `now_ns`, which was read from it just
  // before, lies in its future.
  virtual bool HasStepped(int64_t now_ns) = 0;
};

// A reading of a clock and of CLOCK_MONOTONIC_RAW at one moment, as far as that is possible.
struct ClockPair {
  int64_t clock_ns;
  int64_t raw_ns;
};

// Empty when the thread was interrupted between the readings, however often it tried.
template <typename ClockT>
std::optional<ClockPair> ReadClockPair(const ClockT& clock, int64_t apart_max_ns) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; i++) {
    const int64_t before_ns = clock.NowNs();
    const int64_t raw_ns = ReadClockNs(CLOCK_MONOTONIC_RAW);
    const int64_t apart_ns = clock.NowNs() - before_ns;
    if (apart_ns >= 0 && apart_ns <= apart_max_ns) {
      return ClockPair{before_ns + apart_ns / 2, raw_ns};
    }
  }
  return std::nullopt;
}

// How far a clock may be from CLOCK_MONOTONIC_RAW after `elapsed_ns`. The kernel slews
// CLOCK_MONOTONIC by up to 500 parts per million (NTP), and a calibration of the TSC is good to a
// few.
constexpr int64_t kClockStepNs = 1'000'000;
constexpr double kClockDriftMaxPpm = 1000;
inline bool IsClockStep(int64_t gained_ns, int64_t elapsed_ns) {
  const double allowed_ns = static_cast<double>(kClockStepNs) +
                            kClockDriftMaxPpm * 1e-6 * static_cast<double>(elapsed_ns);
  return static_cast<double>(std::abs(gained_ns)) > allowed_ns;
}

template <typename ClockT>
class ClockWatchOf final : public ClockWatch {
 public:
  explicit ClockWatchOf(const ClockT& clock)
      : clock_(clock), last_(ReadClockPair(clock, kApartMaxNs)) {}

  bool HasStepped(int64_t now_ns) override {
    if (now_ns > clock_.NowNs()) return true;
    const std::optional<ClockPair> pair = ReadClockPair(clock_, kApartMaxNs);
    if (!pair || !last_) {
      if (pair) last_ = pair;
      return false;
    }
    const int64_t elapsed_ns = pair->raw_ns - last_->raw_ns;
    if (!IsClockStep(pair->clock_ns - last_->clock_ns - elapsed_ns, elapsed_ns)) return false;
    last_ = pair;
    return true;
  }

 private:
  static constexpr int64_t kApartMaxNs = 20'000;

  const ClockT clock_;
  std::optional<ClockPair> last_;
};

}  // namespace blkfair
