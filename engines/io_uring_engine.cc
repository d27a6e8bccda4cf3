// The io_uring engine: batched reads and writes through one ring, with the file and the buffers
// registered unless the job says otherwise.
#include <algorithm>
#include <array>
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
    for (io_uring_sqe& entry : ring_.entries()) {
      entry.fd = registered_files ? 0 : file_.get();
      entry.flags = registered_files ? IOSQE_FIXED_FILE : 0;
    }
    opcodes_[0] = fixed_buffers ? IORING_OP_READ_FIXED : IORING_OP_READ;
    opcodes_[1] = fixed_buffers ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE;
    buffer_index_mask_ = fixed_buffers ? 0xffff : 0;
    buffers_ = reinterpret_cast<uintptr_t>(args.buffers.data());
    buffer_stride_ = args.buffer_stride;
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    const uint32_t count = std::min(static_cast<uint32_t>(ops.size()), ring_.capacity());
    // Copies: the compiler must assume that writing entries changes members.
    const uint64_t buffers = buffers_;
    const size_t stride = buffer_stride_;
    const uint16_t mask = buffer_index_mask_;
    const std::array<uint8_t, kDirections> opcodes = opcodes_;
    const Uring::Batch batch = ring_.NextBatch();
    for (uint32_t i = 0; i < count; i++) {
      const IoOp op = ops[i];
      io_uring_sqe& entry = batch.Entry(i);
      entry.opcode = opcodes[static_cast<size_t>(op.direction)];
      entry.off = op.offset_bytes;
      entry.addr = buffers + op.slot * stride;
      entry.len = op.length_bytes;
      entry.user_data = op.slot;
      entry.buf_index = op.slot & mask;
    }
    return ring_.Submit(count);
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    return ring_.Reap(out, min, timeout_ns);
  }

 private:
  UniqueFd file_;
  Uring ring_;
  std::array<uint8_t, kDirections> opcodes_ = {};
  uint16_t buffer_index_mask_ = 0;
  uint64_t buffers_ = 0;
  size_t buffer_stride_ = 0;
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
