// Whether the time stamp counter may be the clock of a run, and how fast it ticks. Looked into
// once, before a run, by the orchestrator's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace blkfair {

// Whether the CPU promises that its counter keeps the same rate in all power states (CPUID
// 0x80000007, EDX bit 8).
bool HasInvariantTsc();

// Why the counter must not be used, by what can be known without measuring it; empty where nothing
// speaks against it. `clocksource` is the kernel's: it watches the counter all the time, and turns
// away from one that does not keep up (kernel/time/clocksource.c, 6.1 to 7.3).
std::string WhyNotTsc(bool invariant, std::string_view clocksource);

// A read of the counter on some CPU, and its place in an order that all CPUs agree on.
struct TickMark {
  uint64_t order;
  uint64_t ticks;
};
// How often the counter went backwards in that order. Sorts `marks`.
uint64_t CountWarps(std::span<TickMark> marks);
// Reads the counter on the first CPU that this process may use and on each other one at the same
// time, and counts how often it went backwards from one read to the next.
uint64_t CountTscWarps();

// The counter's scale by CLOCK_MONOTONIC_RAW, measured for some 40 ms; empty when its rate was not
// the same in both halves of that.
std::optional<TickScale> CalibrateTsc();

// The counter as a clock that agrees with CLOCK_MONOTONIC now.
TscClock StartTscClock(const TickScale& scale);

}  // namespace blkfair
