#include "engines/uring_discard.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "base/fd.h"
#include "engines/discard.h"
#include "engines/target_file.h"
#include "engines/uring.h"
#include "engines/uring_options.h"

namespace blkfair {

namespace {

// linux/blkdev.h of 6.12, which Debian 12's headers are older than.
constexpr uint32_t kBlockUringCmdDiscard = _IO(0x12, 0);
constexpr int64_t kTrialNs = 30'000'000'000;

template <UringMode kMode>
class UringDiscardEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    const UringOptions options = UringOptionsOf(*args.params);
    if (options.hipri) return Fail(ErrorKind::kUsage, "discards cannot be polled for: no hipri");
    RETURN_IF_ERROR(RequireDiscards(KernelFs(KernelRoots::Real()), *args.queue, args.bs_bytes));
    ASSIGN_OR_RETURN(file_, OpenTarget(args));
    RETURN_IF_ERROR(ring_.Open(args.iodepth, kMode));
    if (options.registered_files) RETURN_IF_ERROR(ring_.RegisterFile(file_.get()));
    bs_bytes_ = args.bs_bytes;
    for (uint32_t slot = 0; slot < args.iodepth; slot++) {
      io_uring_sqe& entry = ring_.entries()[slot];
      entry.opcode = IORING_OP_URING_CMD;
      entry.cmd_op = kBlockUringCmdDiscard;
      entry.fd = options.registered_files ? 0 : file_.get();
      entry.flags = options.registered_files ? IOSQE_FIXED_FILE : 0;
      entry.user_data = slot;
    }
    return TryOne();
  }

  // blkdev_uring_cmd in block/ioctl.c (6.12): `addr` is the start, `addr3` the length, in bytes.
  int Submit(std::span<const IoOp> ops) override {
    Uring::Batch batch = ring_.NextBatch();
    for (const IoOp& op : ops) {
      io_uring_sqe& entry = ring_.entries()[op.slot];
      entry.addr = op.offset_bytes;
      entry.addr3 = op.length_bytes;
      batch.Put(op.slot);
    }
    return ring_.Submit<kMode>(static_cast<uint32_t>(ops.size()));
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    const int count = ring_.Reap<kMode>(out, min, timeout_ns);
    for (int i = 0; i < count; i++) {
      int32_t& result = out[static_cast<size_t>(i)].result;
      if (result == 0) result = static_cast<int32_t>(bs_bytes_);
    }
    return count;
  }

 private:
  // Nothing at all is discarded by way of trial: a kernel that knows the command calls that
  // invalid, one that does not says that it is not supported.
  Result<void> TryOne() {
    const std::string what = "discard through io_uring";
    const IoOp op = {0, 0, 0, Direction::kWrite};
    if (const int taken = Submit({&op, 1}); taken < 0) return FailErrno(-taken, what);
    IoCompletion done = {};
    const int reaped = Reap({&done, 1}, 1, kTrialNs);
    if (reaped != 1) return FailErrno(reaped < 0 ? -reaped : ETIMEDOUT, what);
    if (done.result == -EINVAL) return {};
    return Fail({ErrorKind::kUnmet, -done.result,
                 what + ": the kernel has no such command (Linux 6.12 has it); use trim = "
                        "\"ioctl\""});
  }

  UniqueFd file_;
  Uring ring_;
  uint32_t bs_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Engine> MakeUringDiscardEngine(const ParamValues& params) {
  if (UringOptionsOf(params).sqpoll) {
    return std::make_unique<UringDiscardEngine<UringMode{.sqpoll = true}>>();
  }
  return std::make_unique<UringDiscardEngine<UringMode{}>>();
}

}  // namespace blkfair
