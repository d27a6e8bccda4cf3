#include "engines/discard.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <string>

#include "engines/sync_engine.h"

namespace blkfair {

namespace {

struct DiscardCall {
  Result<void> Open(const EngineOpenArgs& args) {
    return RequireDiscards(KernelFs(KernelRoots::Real()), *args.queue, args.bs_bytes);
  }
  ssize_t Transfer(int fd, std::byte* /*buffer*/, const IoOp& op) const {
    const uint64_t range[2] = {op.offset_bytes, op.length_bytes};
    return ::ioctl(fd, BLKDISCARD, range) == 0 ? static_cast<ssize_t>(op.length_bytes) : -1;
  }
};

}  // namespace

Result<void> RequireDiscards(const KernelFs& fs, const Queue& queue, uint32_t bs_bytes) {
  if (queue.kind != QueueKind::kBlock) {
    return Fail(ErrorKind::kUnmet, "a trim needs a block device, which " + queue.path + " is not");
  }
  const std::string folder = fs.roots().sys + "/block/" + queue.disk + "/queue/discard_";
  ASSIGN_OR_RETURN(const int64_t max, fs.ReadInt(folder + "max_bytes"));
  if (max == 0) {
    return Fail(ErrorKind::kUnmet, "a trim needs a device that discards, which " + queue.disk +
                                       " does not (discard_max_bytes is 0)");
  }
  ASSIGN_OR_RETURN(const int64_t granularity, fs.ReadInt(folder + "granularity"));
  if (granularity == 0 || bs_bytes % static_cast<uint64_t>(granularity) == 0) return {};
  return Fail(ErrorKind::kUsage, "bs = " + std::to_string(bs_bytes) +
                                     " B is not a multiple of the " + std::to_string(granularity) +
                                     " B that " + queue.disk +
                                     " discards at a time (discard_granularity)");
}

std::unique_ptr<Engine> MakeDiscardEngine() { return std::make_unique<SyncEngine<DiscardCall>>(); }

}  // namespace blkfair
