// The psync engine: one pread(2) or pwrite(2) per request, in the caller's thread.
#include <unistd.h>

#include <memory>

#include "engines/sync_engine.h"

namespace blkfair {

namespace {

struct PreadCall {
  Result<void> Open(const EngineOpenArgs& /*args*/) { return {}; }
  ssize_t Transfer(int fd, std::byte* buffer, const IoOp& op) const {
    const auto offset = static_cast<off_t>(op.offset_bytes);
    return op.direction == Direction::kRead ? ::pread(fd, buffer, op.length_bytes, offset)
                                            : ::pwrite(fd, buffer, op.length_bytes, offset);
  }
};

}  // namespace

extern const EngineInfo kPsyncEngineInfo;
constinit const EngineInfo kPsyncEngineInfo = {
    .name = "psync",
    .help = "One pread or pwrite at a time, in the job's thread: depth 1",
    .issue =
        [](const ParamValues&) {
          return IssueRule{IssuePoint::kBeforeSubmit,
                           "just before pread or pwrite is called: slat is absent"};
        },
    .synchronous = true,
    .params = {},
    .create = [](const EngineUse&) -> std::unique_ptr<Engine> {
      return std::make_unique<SyncEngine<PreadCall>>();
    },
    .probe = []() -> Result<void> { return {}; },
};

}  // namespace blkfair
