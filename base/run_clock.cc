#include "base/run_clock.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/tsc.h"

namespace blkfair {

namespace {

// Far more than a pair of readings takes; the fastest of several would be better still, but what is
// asked of it is parts per million of a run.
constexpr int64_t kApartMaxNs = 100'000;
constexpr int64_t kDriftAfterNs = 100'000'000;

template <typename ClockT>
double ReadCostNs(const ClockT& clock) {
  constexpr int kReads = 1000;
  const int64_t begin_ns = ReadClockNs(CLOCK_MONOTONIC);
  for (int i = 0; i < kReads; i++) static_cast<void>(clock.NowNs());
  return static_cast<double>(ReadClockNs(CLOCK_MONOTONIC) - begin_ns) / (kReads + 1);
}

std::optional<ClockPair> PairOf(const JobClock& clock) {
  return std::visit([](const auto& c) { return ReadClockPair(c, kApartMaxNs); }, clock);
}

}  // namespace

RunClock::RunClock(std::optional<TickScale> tsc, std::string why)
    : tsc_(tsc), why_(std::move(why)), clock_(StartPhase()), chosen_at_(PairOf(clock_)) {}

RunClock RunClock::Choose(const KernelFs& fs) {
  const std::string file =
      fs.roots().sys + "/devices/system/clocksource/clocksource0/current_clocksource";
  std::string why_not = WhyNotTsc(HasInvariantTsc(), fs.ReadLine(file).value_or(""));
  if (!why_not.empty()) return {std::nullopt, std::move(why_not)};
  if (const uint64_t warps = CountTscWarps(); warps > 0) {
    return {std::nullopt, fmt::format("the TSC went backwards {} times between CPUs", warps)};
  }
  const std::optional<TickScale> scale = CalibrateTsc();
  if (!scale) return {std::nullopt, "the TSC does not keep step with CLOCK_MONOTONIC_RAW"};
  return {scale, fmt::format("the TSC is invariant and in step on all CPUs, {:.3f} GHz",
                             scale->TicksPerSecond() * 1e-9)};
}

RunClock RunClock::ForceTsc() { return {CalibrateTsc(), "asked for"}; }

JobClock RunClock::StartPhase() const {
  if (tsc_) return StartTscClock(*tsc_);
  return MonotonicClock();
}

ClockFacts RunClock::Facts() const {
  ClockFacts facts;
  facts.source = tsc_ ? "TSC" : "CLOCK_MONOTONIC";
  facts.why = why_;
  facts.read_cost_ns = std::visit([](const auto& c) { return ReadCostNs(c); }, clock_);
  facts.in_user_space = tsc_ ? true : MonotonicStaysInUserSpace();
  const std::optional<ClockPair> now = PairOf(clock_);
  if (!now || !chosen_at_) return facts;
  const int64_t elapsed_ns = now->raw_ns - chosen_at_->raw_ns;
  const int64_t gained_ns = now->clock_ns - chosen_at_->clock_ns - elapsed_ns;
  if (elapsed_ns >= kDriftAfterNs) {
    facts.drift_ppm = 1e6 * static_cast<double>(gained_ns) / static_cast<double>(elapsed_ns);
  }
  facts.suspect = WhySuspect(facts.source, gained_ns, elapsed_ns);
  return facts;
}

std::string WhySuspect(std::string_view source, int64_t gained_ns, int64_t elapsed_ns) {
  if (!IsClockStep(gained_ns, elapsed_ns)) return {};
  return fmt::format("{} was {:.3f} s {} CLOCK_MONOTONIC_RAW after {:.3f} s", source,
                     static_cast<double>(std::abs(gained_ns)) * 1e-9,
                     gained_ns > 0 ? "ahead of" : "behind", static_cast<double>(elapsed_ns) * 1e-9);
}

std::optional<bool> MonotonicStaysInUserSpace() {
  // In strict mode a thread may read, write and exit (seccomp(2)): one that asks the kernel for the
  // time is killed.
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(1);
    timespec ts;
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    ::syscall(SYS_exit, 0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (WIFSIGNALED(status)) return false;
  return WEXITSTATUS(status) == 0 ? std::optional(true) : std::nullopt;
}

}  // namespace blkfair
