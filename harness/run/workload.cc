#include "harness/run/workload.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace blkfair {

namespace {

// Results of a transfer come back as int32_t, and the kernel moves at most MAX_RW_COUNT at a time.
constexpr uint64_t kBsMax = uint64_t{1} << 30;

uint64_t ReadThreshold(const JobSpec& spec) {
  if (!Reads(spec.rw)) return 0;
  if (!Writes(spec.rw)) return uint64_t{1} << 32;
  return (uint64_t{spec.rwmixread_percent} << 32) / 100;
}

// The option that direct I/O on the queue forbids, and its value; empty when none does. All offsets
// and lengths of a job are sums of these. Blocks need not be powers of two (528 B).
std::pair<std::string_view, uint64_t> Misaligned(const JobSpec& spec, const Queue& queue) {
  const uint64_t block = queue.logical_block_bytes;
  if (!spec.direct || queue.kind != QueueKind::kBlock || block == 0) return {};
  if (spec.bs_bytes % block != 0) return {"bs", spec.bs_bytes};
  if (spec.offset_bytes % block != 0) return {"offset", spec.offset_bytes};
  return {};
}

}  // namespace

Result<Workload> Workload::Make(const JobSpec& spec, uint32_t clone, const Queue& queue,
                                uint64_t seed) {
  const auto refuse = [&](std::string why) {
    return Fail(ErrorKind::kUsage, fmt::format("job {}: {}", spec.name, why));
  };
  const uint64_t bs = spec.bs_bytes;
  if (bs == 0 || bs > kBsMax) return refuse(fmt::format("bs = {} B is not in 1 B to 1 GiB", bs));
  if (spec.size_bytes == 0 && queue.size_bytes == 0) {
    return refuse(fmt::format("{} has no size of its own: give the job a size", queue.Name()));
  }
  const uint64_t end =
      spec.size_bytes == 0 ? queue.size_bytes : spec.offset_bytes + spec.size_bytes;
  if (end < spec.offset_bytes || (queue.size_bytes != 0 && end > queue.size_bytes)) {
    return refuse(fmt::format("offset {} + size {} lies beyond the {} B of {}", spec.offset_bytes,
                              spec.size_bytes, queue.size_bytes, queue.Name()));
  }
  if (end - spec.offset_bytes < bs) {
    return refuse(fmt::format("its region of {} B on {} is smaller than bs = {} B",
                              end - spec.offset_bytes, queue.Name(), bs));
  }
  const auto [option, value] = Misaligned(spec, queue);
  if (!option.empty()) {
    return refuse(
        fmt::format("{} = {} B is not a multiple of the {} B logical block of {}, as direct I/O "
                    "needs",
                    option, value, queue.logical_block_bytes, queue.Name()));
  }
  Workload workload;
  workload.seed_ = Mix64(seed);
  workload.blocks_ = (end - spec.offset_bytes) / bs;
  workload.reciprocal_ = std::numeric_limits<uint64_t>::max() / workload.blocks_;
  const uint64_t clones = spec.numjobs == 0 ? 1 : spec.numjobs;
  workload.first_block_ =
      workload.blocks_ / clones * clone + workload.blocks_ % clones * clone / clones;
  workload.offset_bytes_ = spec.offset_bytes;
  workload.bs_bytes_ = bs;
  workload.read_below_ = ReadThreshold(spec);
  workload.random_ = IsRandom(spec.rw);
  return workload;
}

}  // namespace blkfair
