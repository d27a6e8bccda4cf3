#include "base/tsc.h"

#include <fmt/format.h>
#include <sched.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "base/clock_watch.h"

namespace blkfair {

namespace {

constexpr int kMarksPerCpu = 2000;
constexpr timespec kHalf = {.tv_sec = 0, .tv_nsec = 20'000'000};

struct TickPair {
  uint64_t ticks;
  int64_t ns;
};

// The counter and a clock of the kernel at one moment: the pair that was read fastest of several.
TickPair ReadTickPair(clockid_t id) {
  constexpr int kTries = 50;
  constexpr TscTicks kTsc;
  TickPair best = {};
  uint64_t best_apart = std::numeric_limits<uint64_t>::max();
  for (int i = 0; i < kTries; i++) {
    const uint64_t before = kTsc.Ticks();
    const int64_t ns = ReadClockNs(id);
    const uint64_t apart = kTsc.Ticks() - before;
    if (apart >= best_apart) continue;
    best_apart = apart;
    best = {before + apart / 2, ns};
  }
  return best;
}

TickScale ScaleBetween(const TickPair& from, const TickPair& to) {
  return TickScale::Of(to.ticks - from.ticks, to.ns - from.ns);
}

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Between one thread's look at `order` and its raising it nobody else has raised it: so the reads
// are ordered as the numbers are.
void TakeMarks(int cpu, std::atomic<uint64_t>* order, std::span<TickMark> marks) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
  constexpr TscTicks kTsc;
  for (TickMark& mark : marks) {
    mark.order = order->load(std::memory_order_acquire);
    do {
      mark.ticks = kTsc.Ticks();
#if defined(__x86_64__)
      _mm_lfence();  // RDTSC lets later instructions begin before it is done
#endif
    } while (!order->compare_exchange_weak(mark.order, mark.order + 1));
  }
}

}  // namespace

bool HasInvariantTsc() {
#if defined(__x86_64__)
  unsigned eax;
  unsigned ebx;
  unsigned ecx;
  unsigned edx;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && ((edx >> 8) & 1) != 0;
#else
  return false;
#endif
}

std::string WhyNotTsc(bool invariant, std::string_view clocksource) {
  if (!TscTicks::kExists) return "this architecture has no time stamp counter";
  if (!invariant) return "the CPU does not promise an invariant TSC";
  if (clocksource != "tsc") {
    return fmt::format("the kernel's clocksource is {}, not tsc",
                       clocksource.empty() ? "unknown" : clocksource);
  }
  return {};
}

uint64_t CountWarps(std::span<TickMark> marks) {
  std::sort(marks.begin(), marks.end(),
            [](const TickMark& a, const TickMark& b) { return a.order < b.order; });
  uint64_t warps = 0;
  for (size_t i = 1; i < marks.size(); i++) warps += marks[i].ticks < marks[i - 1].ticks ? 1 : 0;
  return warps;
}

uint64_t CountTscWarps() {
  const std::vector<int> cpus = AllowedCpus();
  std::vector<TickMark> marks(size_t{2} * kMarksPerCpu);
  uint64_t warps = 0;
  for (size_t i = 1; i < cpus.size(); i++) {
    std::atomic<uint64_t> order = 0;
    {
      const std::span all(marks);
      const std::jthread first(TakeMarks, cpus[0], &order, all.first(kMarksPerCpu));
      const std::jthread other(TakeMarks, cpus[i], &order, all.last(kMarksPerCpu));
    }
    warps += CountWarps(marks);
  }
  return warps;
}

std::optional<TickScale> CalibrateTsc() {
  const TickPair begin = ReadTickPair(CLOCK_MONOTONIC_RAW);
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kHalf, nullptr);
  const TickPair middle = ReadTickPair(CLOCK_MONOTONIC_RAW);
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kHalf, nullptr);
  const TickPair end = ReadTickPair(CLOCK_MONOTONIC_RAW);
  if (middle.ticks <= begin.ticks || end.ticks <= middle.ticks) return std::nullopt;
  const double change = ScaleBetween(begin, middle).TicksPerSecond() /
                            ScaleBetween(middle, end).TicksPerSecond() -
                        1;
  if (std::fabs(change) > kClockDriftMaxPpm * 1e-6) return std::nullopt;
  return ScaleBetween(begin, end);
}

TscClock StartTscClock(const TickScale& scale) {
  const TickPair now = ReadTickPair(CLOCK_MONOTONIC);
  return {TscTicks{}, scale, now.ticks, now.ns};
}

}  // namespace blkfair
