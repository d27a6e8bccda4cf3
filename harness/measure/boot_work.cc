#include "harness/measure/boot_work.h"

#include <array>
#include <cstddef>
#include <sstream>
#include <string>

namespace blkfair {
namespace {

constexpr int64_t kStepNs = 500'000'000;

// In ticks of 10 ms, of all CPUs together, since boot.
struct CpuTicks {
  uint64_t idle = 0;
  uint64_t all = 0;
};

// The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ...".
std::optional<CpuTicks> ReadTicks(const KernelFs& fs) {
  const Result<std::string> line = fs.ReadLine(fs.roots().proc + "/stat");
  if (!line) return std::nullopt;
  std::istringstream words(*line);
  std::string cpu;
  std::array<uint64_t, 8> ticks{};
  words >> cpu;
  for (uint64_t& tick : ticks) words >> tick;
  if (!words || cpu != "cpu") return std::nullopt;
  CpuTicks sum{.idle = ticks[3] + ticks[4]};
  for (const uint64_t tick : ticks) sum.all += tick;
  return sum;
}

}  // namespace

std::optional<BootWork> WaitForBootWork(const KernelFs& fs, int64_t limit_ns,
                                        const std::function<void(int64_t ns)>& sleep) {
  BootWork work;
  std::optional<CpuTicks> before = ReadTicks(fs);
  while (before && !work.ended && work.waited_ns < limit_ns) {
    sleep(kStepNs);
    work.waited_ns += kStepNs;
    const std::optional<CpuTicks> after = ReadTicks(fs);
    if (!after) return std::nullopt;
    const uint64_t all = after->all - before->all;
    work.ended = all > 0 && (after->idle - before->idle) * 100 >= all * 95;
    before = after;
  }
  if (!before) return std::nullopt;
  return work;
}

}  // namespace blkfair
