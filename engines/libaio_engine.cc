// The libaio engine: io_submit(2) and io_getevents(2). Completions are taken from the ring that the
// kernel maps into the process, without a system call, while there are any.
#include <libaio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/fd.h"
#include "engines/engine.h"
#include "engines/target_file.h"
#include "engines/wait.h"

namespace blkfair {

namespace {

// struct aio_ring of fs/aio.c, the head of the completion ring that an io_context_t points to: part
// of the kernel's ABI since 2.6 (6.1 to 7.3 read), though in no header.
struct CompletionRing {
  static constexpr uint32_t kMagic = 0xa10a10a1;

  uint32_t id;
  uint32_t nr;    // slots
  uint32_t head;  // written by user space or by io_getevents
  uint32_t tail;  // written by the kernel
  uint32_t magic;
  uint32_t compat_features;
  uint32_t incompat_features;
  uint32_t header_length;

  // The events follow the header.
  const io_event& Event(uint32_t i) const { return reinterpret_cast<const io_event*>(this + 1)[i]; }
};
static_assert(sizeof(CompletionRing) == 32);

class LibaioEngine final : public Engine {
 public:
  ~LibaioEngine() override {
    // io_destroy waits, unkillably, for what is in flight: after a drain that gave up it would hang
    // the run as well, so the context is left to the end of the process.
    if (context_ != nullptr && in_flight_ == 0) ::io_destroy(context_);
  }

  Result<void> Open(const EngineOpenArgs& args) override {
    ASSIGN_OR_RETURN(file_, OpenTarget(args));
    iocbs_.resize(args.iodepth);
    batch_.resize(args.iodepth);
    events_.resize(args.iodepth);
    for (uint32_t slot = 0; slot < args.iodepth; slot++) {
      std::byte* buffer = args.buffers.data() + slot * args.buffer_stride;
      ::io_prep_pread(&iocbs_[slot], file_.get(), buffer, 0, 0);
      iocbs_[slot].data = reinterpret_cast<void*>(uintptr_t{slot});
    }
    const int error = ::io_setup(static_cast<int>(args.iodepth), &context_);
    if (error == -EAGAIN) {
      return Fail({ErrorKind::kKernel, EAGAIN,
                   "io_setup for " + std::to_string(args.iodepth) +
                       " requests: the sum of all depths passes fs.aio-max-nr (raise it)"});
    }
    if (error < 0) return FailErrno(-error, "io_setup");
    ring_ = reinterpret_cast<CompletionRing*>(context_);
    if (ring_->magic != CompletionRing::kMagic) ring_ = nullptr;
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    iocb** batch = batch_.data();
    for (const IoOp& op : ops) {
      iocb& request = iocbs_[op.slot];
      static_assert(int{IO_CMD_PREAD} == int{static_cast<uint8_t>(Direction::kRead)});
      static_assert(int{IO_CMD_PWRITE} == int{static_cast<uint8_t>(Direction::kWrite)});
      request.aio_lio_opcode = static_cast<short>(op.direction);
      request.u.c.offset = static_cast<long long>(op.offset_bytes);
      request.u.c.nbytes = op.length_bytes;
      *batch++ = &request;
    }
    return SubmitBatch(ops.size());
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    const uint32_t ready = ReadyInRing();
    if (ready < min) [[unlikely]]
      return WaitAndTake(out, min, timeout_ns);
    return static_cast<int>(TakeFromRing(out, ready));
  }

  int Sync() override { return SyncTarget(file_.get()); }

 private:
  int SubmitBatch(size_t count) {
    // Not by libaio's io_submit, which is a detour of thirty instructions.
    const long taken = ::syscall(SYS_io_submit, context_, count, batch_.data());
    if (taken < 0) [[unlikely]]
      return NotTaken(count, errno);
    in_flight_ += static_cast<uint32_t>(taken);
    return static_cast<int>(taken);
  }

  [[gnu::noinline]] int NotTaken(size_t count, int os_errno) {
    if (os_errno == EINTR) return SubmitBatch(count);
    return os_errno == EAGAIN ? 0 : -os_errno;
  }

  static IoCompletion CompletionOf(const io_event& event) {
    return {static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event.data)),
            static_cast<int32_t>(static_cast<int64_t>(event.res))};
  }

  // Completions that can be taken without a system call.
  uint32_t ReadyInRing() const {
    CompletionRing* const ring = ring_;
    if (ring == nullptr) return 0;
    // The kernel publishes an event before it moves the tail (smp_wmb in aio_complete).
    const uint32_t tail = std::atomic_ref(ring->tail).load(std::memory_order_acquire);
    const uint32_t head = std::atomic_ref(ring->head).load(std::memory_order_relaxed);
    return tail >= head ? tail - head : tail + ring->nr - head;
  }

  // Up to `ready` completions, which are there.
  uint32_t TakeFromRing(std::span<IoCompletion> out, uint32_t ready) {
    CompletionRing* const ring = ring_;
    const uint32_t taken = std::min(ready, static_cast<uint32_t>(out.size()));
    uint32_t head = std::atomic_ref(ring->head).load(std::memory_order_relaxed);
    for (IoCompletion& completion : out.first(taken)) {
      completion = CompletionOf(ring->Event(head));
      if (++head == ring->nr) [[unlikely]]
        head = 0;
    }
    // It reads our head before it reuses a slot.
    std::atomic_ref(ring->head).store(head, std::memory_order_release);
    in_flight_ -= taken;
    return taken;
  }

  [[gnu::noinline]] int WaitAndTake(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) {
    const uint32_t ready = ReadyInRing();
    const uint32_t taken = ready == 0 ? 0 : TakeFromRing(out, ready);
    const auto room = static_cast<uint32_t>(out.size()) - taken;
    if (taken >= min || room == 0) return static_cast<int>(taken);
    timespec timeout = TimespecOf(std::max<int64_t>(timeout_ns, 0));
    const int more = ::io_getevents(context_, min - taken, room, events_.data(),
                                    timeout_ns < 0 ? nullptr : &timeout);
    if (more < 0) return more == -EINTR || taken > 0 ? static_cast<int>(taken) : more;
    const auto late = static_cast<uint32_t>(more);
    for (uint32_t i = 0; i < late; i++) out[taken + i] = CompletionOf(events_[i]);
    in_flight_ -= late;
    return static_cast<int>(taken + late);
  }

  UniqueFd file_;
  io_context_t context_ = nullptr;
  CompletionRing* ring_ = nullptr;  // null: the kernel's ring has an unknown form, use system calls
  std::vector<iocb> iocbs_;         // by slot
  std::vector<iocb*> batch_;
  std::vector<io_event> events_;
  uint32_t in_flight_ = 0;
};

Result<void> Probe() {
  io_context_t context = nullptr;
  const int error = ::io_setup(1, &context);
  if (error == 0) {
    ::io_destroy(context);
    return {};
  }
  if (error == -ENOSYS) {
    return Fail(ErrorKind::kUnmet,
                "engine libaio: the kernel has no io_setup (CONFIG_AIO), or seccomp hides it");
  }
  if (error == -EAGAIN) {
    return Fail(ErrorKind::kUnmet, "engine libaio: fs.aio-max-nr is used up (raise it)");
  }
  return FailErrno(-error, "engine libaio: io_setup", ErrorKind::kUnmet);
}

}  // namespace

extern const EngineInfo kLibaioEngineInfo;
constinit const EngineInfo kLibaioEngineInfo = {
    .name = "libaio",
    .help = "Linux native AIO: io_submit waits for a free tag itself",
    .issue =
        [](const ParamValues&) {
          return IssueRule{IssuePoint::kAfterSubmit,
                           "after io_submit returned: waiting for a tag is slat"};
        },
    .synchronous = false,
    .synchronous_buffered = true,  // io_submit(2) calls the file's read_iter, which fills the cache
    .params = {},
    .create = [](const EngineUse&) -> std::unique_ptr<Engine> {
      return std::make_unique<LibaioEngine>();
    },
    .probe = Probe,
};

}  // namespace blkfair
