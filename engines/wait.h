// Sleeping on CLOCK_MONOTONIC, for engines whose kernel interface has nothing to wait on and for
// the threads that run jobs.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace blkfair {

// The relative timespec of `ns` >= 0.
inline timespec TimespecOf(int64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / 1'000'000'000), .tv_nsec = ns % 1'000'000'000};
}

// May return early on a signal, as Engine::Reap may.
inline void SleepFor(int64_t ns) {
  const timespec ts = TimespecOf(ns);
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, nullptr);
}

// Until the clock shows `at_ns`, signals or not.
inline void SleepUntil(int64_t at_ns) {
  const timespec ts = TimespecOf(at_ns);
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) == EINTR) {
  }
}

}  // namespace blkfair
