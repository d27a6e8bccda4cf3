// The io_uring engine: batched reads and writes through one ring, with the file and the buffers
// registered unless the job says otherwise.
#include <memory>

#include "base/fd.h"
#include "engines/engine.h"
#include "engines/target_file.h"
#include "engines/uring.h"

namespace blkfair {

namespace {

class IoUringEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    const bool fixed_buffers = args.params->Bool("fixed_buffers");
    const bool registered_files = args.params->Bool("registered_files");
    ASSIGN_OR_RETURN(file_, OpenTarget(args));
    RETURN_IF_ERROR(ring_.Open(args.iodepth));
    if (registered_files) RETURN_IF_ERROR(ring_.RegisterFile(file_.get()));
    if (fixed_buffers) RETURN_IF_ERROR(ring_.RegisterBuffers(args.buffers, args.buffer_stride));
    for (uint32_t slot = 0; slot < args.iodepth; slot++) {
      io_uring_sqe& entry = ring_.entries()[slot];
      entry.fd = registered_files ? 0 : file_.get();
      entry.flags = registered_files ? IOSQE_FIXED_FILE : 0;
      entry.addr = reinterpret_cast<uintptr_t>(args.buffers.data() + slot * args.buffer_stride);
      entry.buf_index = fixed_buffers ? static_cast<uint16_t>(slot) : 0;
      entry.user_data = slot;
    }
    read_opcode_ = fixed_buffers ? IORING_OP_READ_FIXED : IORING_OP_READ;
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
      entry.len = op.length_bytes;
      batch.Put(op.slot);
    }
    return ring_.Submit(static_cast<uint32_t>(ops.size()));
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    return ring_.Reap(out, min, timeout_ns);
  }

 private:
  UniqueFd file_;
  Uring ring_;
  // The opcode of a read; that of a write is one more.
  uint8_t read_opcode_ = 0;
  static_assert(IORING_OP_WRITE_FIXED == IORING_OP_READ_FIXED + 1);
  static_assert(IORING_OP_WRITE == IORING_OP_READ + 1);
};

constexpr ParamSpec kParams[] = {
    {.name = "fixed_buffers",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Register the buffers with the ring; needs locked memory"},
    {.name = "registered_files",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Register the file with the ring"},
};

}  // namespace

extern const EngineInfo kIoUringEngineInfo;
constinit const EngineInfo kIoUringEngineInfo = {
    .name = "io_uring",
    .help = "Batched I/O through one ring; a request that finds no tag waits in a kernel worker",
    .issue_point = IssuePoint::kAfterSubmit,
    .issue_doc = "after the submitting io_uring_enter returned: waiting for a tag is clat",
    .synchronous = false,
    .params = kParams,
    .create = []() -> std::unique_ptr<Engine> { return std::make_unique<IoUringEngine>(); },
    .probe = []() -> Result<void> { return ProbeUring("io_uring"); },
};

}  // namespace blkfair
