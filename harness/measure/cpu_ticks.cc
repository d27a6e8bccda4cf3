#include "harness/measure/cpu_ticks.h"

#include <array>
#include <sstream>
#include <string>

namespace blkfair {

// The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ..."
// (proc(5)).
std::optional<CpuTicks> ReadCpuTicks(const KernelFs& fs) {
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

}  // namespace blkfair
