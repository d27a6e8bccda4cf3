#include "harness/measure/boot_work.h"

#include "harness/measure/cpu_ticks.h"

namespace blkfair {
namespace {

constexpr int64_t kStepNs = 500'000'000;

}  // namespace

std::optional<BootWork> WaitForBootWork(const KernelFs& fs, int64_t limit_ns,
                                        const std::function<void(int64_t ns)>& sleep) {
  BootWork work;
  std::optional<CpuTicks> before = ReadCpuTicks(fs);
  while (before && !work.ended && work.waited_ns < limit_ns) {
    sleep(kStepNs);
    work.waited_ns += kStepNs;
    const std::optional<CpuTicks> after = ReadCpuTicks(fs);
    if (!after) return std::nullopt;
    const uint64_t all = after->all - before->all;
    work.ended = all > 0 && (after->idle - before->idle) * 100 >= all * 95;
    before = after;
  }
  if (!before) return std::nullopt;
  return work;
}

}  // namespace blkfair
