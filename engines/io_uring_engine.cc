// The io_uring engine: batched reads and writes through one ring, with the file and the buffers
// registered unless the job says otherwise.
#include <sys/uio.h>

#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "engines/engine.h"
#include "engines/polled_queue.h"
#include "engines/target_file.h"
#include "engines/uring.h"
#include "engines/uring_discard.h"
#include "engines/uring_options.h"

namespace blkfair {

namespace {

template <UringMode kMode, bool kVectored>
class IoUringEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    const UringOptions options = UringOptionsOf(*args.params);
    if (kMode.polled) {
      RETURN_IF_ERROR(RequirePolledQueue(KernelFs(KernelRoots::Real()), *args.queue));
    }
    ASSIGN_OR_RETURN(file_, OpenTarget(args));
    RETURN_IF_ERROR(ring_.Open(args.iodepth, kMode));
    if (options.registered_files) RETURN_IF_ERROR(ring_.RegisterFile(file_.get()));
    if (options.fixed_buffers) {
      RETURN_IF_ERROR(ring_.RegisterBuffers(args.buffers, args.buffer_stride));
    }
    if (kVectored) vectors_.resize(args.iodepth);
    for (uint32_t slot = 0; slot < args.iodepth; slot++) {
      std::byte* const buffer = args.buffers.data() + slot * args.buffer_stride;
      io_uring_sqe& entry = ring_.entries()[slot];
      entry.fd = options.registered_files ? 0 : file_.get();
      entry.flags = options.registered_files ? IOSQE_FIXED_FILE : 0;
      entry.buf_index = options.fixed_buffers ? ring_.BufferOf(slot) : 0;
      entry.user_data = slot;
      if (kVectored) {
        vectors_[slot].iov_base = buffer;
        entry.addr = reinterpret_cast<uintptr_t>(&vectors_[slot]);
        entry.len = 1;
      } else {
        entry.addr = reinterpret_cast<uintptr_t>(buffer);
      }
    }
    read_opcode_ = kVectored               ? IORING_OP_READV
                   : options.fixed_buffers ? IORING_OP_READ_FIXED
                                           : IORING_OP_READ;
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    // Copies: the compiler must assume that writing entries changes members.
    const uint8_t read_opcode = read_opcode_;
    io_uring_sqe* const entries = ring_.entries();
    Uring::Batch batch = ring_.NextBatch();
    for (const IoOp& op : ops) {
      io_uring_sqe& entry = entries[op.slot];
      entry.opcode = static_cast<uint8_t>(read_opcode + static_cast<uint8_t>(op.direction));
      entry.off = op.offset_bytes;
      if constexpr (kVectored) {
        vectors_[op.slot].iov_len = op.length_bytes;
      } else {
        entry.len = op.length_bytes;
      }
      batch.Put(op.slot);
    }
    return ring_.Submit<kMode>(static_cast<uint32_t>(ops.size()));
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    return ring_.Reap<kMode>(out, min, timeout_ns);
  }

  int Sync() override { return SyncTarget(file_.get()); }

 private:
  UniqueFd file_;
  Uring ring_;
  std::vector<iovec> vectors_;  // by slot
  // The opcode of a read; that of a write is one more.
  uint8_t read_opcode_ = 0;
  static_assert(IORING_OP_WRITE_FIXED == IORING_OP_READ_FIXED + 1);
  static_assert(IORING_OP_WRITE == IORING_OP_READ + 1);
  static_assert(IORING_OP_WRITEV == IORING_OP_READV + 1);
};

template <bool kVectored>
std::unique_ptr<Engine> CreateWith(const UringOptions& options) {
  constexpr UringMode kSqpoll = {.sqpoll = true};
  constexpr UringMode kPolled = {.polled = true};
  constexpr UringMode kBoth = {.sqpoll = true, .polled = true};
  if (options.sqpoll && options.hipri) return std::make_unique<IoUringEngine<kBoth, kVectored>>();
  if (options.sqpoll) return std::make_unique<IoUringEngine<kSqpoll, kVectored>>();
  if (options.hipri) return std::make_unique<IoUringEngine<kPolled, kVectored>>();
  return std::make_unique<IoUringEngine<UringMode{}, kVectored>>();
}

std::unique_ptr<Engine> Create(const EngineUse& use) {
  if (use.trims) return MakeUringDiscardEngine(use.params);
  const UringOptions options = UringOptionsOf(use.params);
  return options.nonvectored ? CreateWith<false>(options) : CreateWith<true>(options);
}

}  // namespace

extern const EngineInfo kIoUringEngineInfo;
constinit const EngineInfo kIoUringEngineInfo = {
    .name = "io_uring",
    .help = "Batched I/O through one ring; a request that finds no tag waits in a kernel worker",
    .issue = UringIssue,
    .synchronous = false,
    .trims_async = true,
    .params = kUringParams,
    .pins_buffers = UringPinsBuffers,
    .check = CheckUringOptions,
    .create = Create,
    .probe = []() -> Result<void> { return ProbeUring("io_uring", UringMode{}); },
};

}  // namespace blkfair
