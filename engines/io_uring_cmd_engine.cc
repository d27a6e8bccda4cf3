// The io_uring_cmd engine: NVMe commands handed to a namespace's character device through a ring.
// They pass by the page cache and the block layer's splitting and merging, but not by its tags:
// nvme_alloc_user_request takes one for each (drivers/nvme/host/ioctl.c, 6.1 to 7.3).
#include "engines/io_uring_cmd_engine.h"

#include <linux/nvme_ioctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "base/kernel_fs.h"
#include "engines/discard.h"
#include "engines/polled_queue.h"
#include "engines/uring.h"
#include "engines/uring_options.h"

namespace blkfair {

namespace {

constexpr int64_t kTrialNs = 30'000'000'000;  // as long as the kernel gives a request by default

template <UringMode kMode>
class IoUringCmdEngine final : public Engine {
  static_assert(kMode.wide);

 public:
  explicit IoUringCmdEngine(OpenNvmeFn open) : open_(open) {}

  Result<void> Open(const EngineOpenArgs& args) override {
    const UringOptions options = UringOptionsOf(*args.params);
    if (kMode.polled) {
      RETURN_IF_ERROR(RequirePolledQueue(KernelFs(KernelRoots::Real()), *args.queue));
    }
    ASSIGN_OR_RETURN(target_, open_(args));
    RETURN_IF_ERROR(CheckNvmeLength(target_, args.bs_bytes));
    bs_bytes_ = args.bs_bytes;
    RETURN_IF_ERROR(ring_.Open(args.iodepth, kMode));
    if (options.registered_files) RETURN_IF_ERROR(ring_.RegisterFile(target_.fd.get()));
    if (options.fixed_buffers) {
      RETURN_IF_ERROR(ring_.RegisterBuffers(args.buffers, args.buffer_stride));
    }
    if (!options.nonvectored) vectors_.resize(args.iodepth);
    for (uint32_t slot = 0; slot < args.iodepth; slot++) {
      Prepare(slot, options, args.buffers.data() + slot * args.buffer_stride);
    }
    RETURN_IF_ERROR(TryOne());
    if (!args.trims) return {};
    RETURN_IF_ERROR(RequireDiscards(KernelFs(KernelRoots::Real()), *args.queue, args.bs_bytes));
    ranges_.resize(args.iodepth);
    for (uint32_t slot = 0; slot < args.iodepth; slot++) PrepareTrim(slot, options, args);
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    Uring::Batch batch = ring_.NextBatch();
    for (const IoOp& op : ops) {
      const uint64_t lba = op.offset_bytes >> target_.lba_shift;
      if (!ranges_.empty()) {
        ranges_[op.slot]->lba = lba;
      } else {
        nvme_uring_cmd& command = CommandOf(op.slot);
        command.opcode = op.direction == Direction::kRead ? kNvmeRead : kNvmeWrite;
        command.cdw10 = static_cast<uint32_t>(lba);
        command.cdw11 = static_cast<uint32_t>(lba >> 32);
      }
      batch.Put(op.slot);
    }
    return ring_.Submit<kMode>(static_cast<uint32_t>(ops.size()));
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    const int count = ring_.Reap<kMode>(out, min, timeout_ns);
    for (int i = 0; i < count; i++) {
      int32_t& result = out[static_cast<size_t>(i)].result;
      result = result == 0 ? static_cast<int32_t>(bs_bytes_) : ErrnoOfNvmeResult(result);
    }
    return count;
  }

 private:
  io_uring_sqe& EntryOf(uint32_t slot) { return ring_.entries()[2 * slot]; }
  nvme_uring_cmd& CommandOf(uint32_t slot) {
    return *reinterpret_cast<nvme_uring_cmd*>(EntryOf(slot).cmd);
  }

  // Everything but direction and place.
  void Prepare(uint32_t slot, const UringOptions& options, std::byte* buffer) {
    io_uring_sqe& entry = EntryOf(slot);
    entry.opcode = IORING_OP_URING_CMD;
    entry.fd = options.registered_files ? 0 : target_.fd.get();
    entry.flags = options.registered_files ? IOSQE_FIXED_FILE : 0;
    entry.cmd_op =
        static_cast<uint32_t>(options.nonvectored ? NVME_URING_CMD_IO : NVME_URING_CMD_IO_VEC);
    entry.uring_cmd_flags = options.fixed_buffers ? IORING_URING_CMD_FIXED : 0;
    entry.buf_index = options.fixed_buffers ? ring_.BufferOf(slot) : 0;
    entry.user_data = slot;
    nvme_uring_cmd& command = CommandOf(slot);
    command.nsid = target_.nsid;
    command.cdw12 = (bs_bytes_ >> target_.lba_shift) - 1;  // blocks less one
    command.addr = reinterpret_cast<uintptr_t>(buffer);
    command.data_len = bs_bytes_;
    if (options.nonvectored) return;
    vectors_[slot] = {buffer, bs_bytes_};
    command.addr = reinterpret_cast<uintptr_t>(&vectors_[slot]);
    command.data_len = 1;  // vectors
  }

  // Everything but the place, of one range, which the slot's buffer carries.
  void PrepareTrim(uint32_t slot, const UringOptions& options, const EngineOpenArgs& args) {
    std::byte* const buffer = args.buffers.data() + slot * args.buffer_stride;
    const NvmeRange range = {.attributes = 0, .blocks = bs_bytes_ >> target_.lba_shift, .lba = 0};
    ranges_[slot] = std::construct_at(reinterpret_cast<NvmeRange*>(buffer), range);
    nvme_uring_cmd& command = CommandOf(slot);
    command.opcode = kNvmeDatasetManagement;
    command.cdw10 = 0;  // ranges less one
    command.cdw11 = kNvmeDeallocate;
    command.cdw12 = 0;
    if (options.nonvectored) {
      command.data_len = sizeof range;
    } else {
      vectors_[slot].iov_len = sizeof range;
    }
  }

  // Whether this process may pass commands, and whether the driver takes them from a ring, shows
  // when one is passed only.
  Result<void> TryOne() {
    const std::string what = "read through " + target_.node;
    const IoOp op = {0, bs_bytes_, 0, Direction::kRead};
    if (const int taken = Submit({&op, 1}); taken < 0) return FailErrno(-taken, what);
    IoCompletion done = {};
    int reaped = 0;
    do {
      reaped = Reap({&done, 1}, 1, kTrialNs);
    } while (reaped == 0 && kMode.polled);  // then one call need not wait
    if (reaped != 1) return FailErrno(reaped < 0 ? -reaped : ETIMEDOUT, what);
    if (done.result >= 0) return {};
    const int os_errno = -done.result;
    if (os_errno == EACCES || os_errno == EPERM) {
      return FailErrno(os_errno, what, ErrorKind::kUnmet);
    }
    if (os_errno == EOPNOTSUPP) {
      return Fail({ErrorKind::kUnmet, os_errno,
                   what + ": its driver takes no commands from a ring (Linux 5.19 has that)"});
    }
    return FailErrno(os_errno, what);
  }

  const OpenNvmeFn open_;
  NvmeTarget target_;
  Uring ring_;
  uint32_t bs_bytes_ = 0;
  std::vector<iovec> vectors_;      // by slot
  std::vector<NvmeRange*> ranges_;  // by slot, in the buffers; empty unless the job trims
};

}  // namespace

std::unique_ptr<Engine> MakeIoUringCmdEngine(const ParamValues& params, OpenNvmeFn open) {
  constexpr UringMode kPlain = {.wide = true};
  constexpr UringMode kSqpoll = {.sqpoll = true, .wide = true};
  constexpr UringMode kPolled = {.polled = true, .wide = true};
  constexpr UringMode kBoth = {.sqpoll = true, .polled = true, .wide = true};
  const UringOptions options = UringOptionsOf(params);
  if (options.sqpoll && options.hipri) return std::make_unique<IoUringCmdEngine<kBoth>>(open);
  if (options.sqpoll) return std::make_unique<IoUringCmdEngine<kSqpoll>>(open);
  if (options.hipri) return std::make_unique<IoUringCmdEngine<kPolled>>(open);
  return std::make_unique<IoUringCmdEngine<kPlain>>(open);
}

extern const EngineInfo kIoUringCmdEngineInfo;
constinit const EngineInfo kIoUringCmdEngineInfo = {
    .name = "io_uring_cmd",
    .help =
        "NVMe commands through one ring to the namespace's character device; they take tags as "
        "all requests do, but are never split, merged or scheduled",
    .issue = UringIssue,
    .synchronous = false,
    .direct_only = true,
    .trims_async = true,
    .params = kUringParams,
    .pins_buffers = UringPinsBuffers,
    .check = CheckUringOptions,
    .create = [](const EngineUse& use) -> std::unique_ptr<Engine> {
      return MakeIoUringCmdEngine(use.params, [](const EngineOpenArgs& args) {
        return OpenNvmeTarget(KernelFs(KernelRoots::Real()), *args.queue, args.writes);
      });
    },
    .probe = []() -> Result<void> { return ProbeUring("io_uring_cmd", UringMode{.wide = true}); },
};

}  // namespace blkfair
