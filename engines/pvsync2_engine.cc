// The pvsync2 engine: one preadv2(2) or pwritev2(2) per request, in the caller's thread, which may
// poll the device for the completion.
#include <sys/uio.h>

#include <memory>

#include "base/kernel_fs.h"
#include "engines/polled_queue.h"
#include "engines/sync_engine.h"

namespace blkfair {

namespace {

struct Preadv2Call {
  Result<void> Open(const EngineOpenArgs& args) {
    if (!args.params->Bool("hipri")) return {};
    flags = RWF_HIPRI;
    return RequirePolledQueue(KernelFs(KernelRoots::Real()), *args.queue);
  }
  ssize_t Transfer(int fd, std::byte* buffer, const IoOp& op) const {
    const iovec vector = {buffer, op.length_bytes};
    const auto offset = static_cast<off_t>(op.offset_bytes);
    return op.direction == Direction::kRead ? ::preadv2(fd, &vector, 1, offset, flags)
                                            : ::pwritev2(fd, &vector, 1, offset, flags);
  }

  int flags = 0;
};

constexpr ParamSpec kParams[] = {
    {.name = "hipri",
     .type = ParamType::kBool,
     .default_text = "false",
     .help = "Poll the device for completions (RWF_HIPRI); needs a queue with polled hardware "
             "queues"},
};

}  // namespace

extern const EngineInfo kPvsync2EngineInfo;
constinit const EngineInfo kPvsync2EngineInfo = {
    .name = "pvsync2",
    .help = "One preadv2 or pwritev2 at a time, in the job's thread: depth 1",
    .issue =
        [](const ParamValues&) {
          return IssueRule{IssuePoint::kBeforeSubmit,
                           "just before preadv2 or pwritev2 is called: slat is absent"};
        },
    .synchronous = true,
    .params = kParams,
    .create = [](const EngineUse&) -> std::unique_ptr<Engine> {
      return std::make_unique<SyncEngine<Preadv2Call>>();
    },
    .probe = []() -> Result<void> { return {}; },
};

}  // namespace blkfair
