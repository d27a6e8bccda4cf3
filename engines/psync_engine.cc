// The psync engine: one pread(2) or pwrite(2) per request, in the caller's thread.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/fd.h"
#include "engines/engine.h"
#include "engines/target_file.h"
#include "engines/wait.h"

namespace blkfair {

namespace {

class PsyncEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    CHECK(args.iodepth == 1);
    buffer_ = args.buffers.data();
    ASSIGN_OR_RETURN(file_, OpenTarget(args));
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    if (pending_) return 0;
    const IoOp& op = ops.front();
    const auto offset = static_cast<off_t>(op.offset_bytes);
    ssize_t moved;
    do {
      moved = op.direction == Direction::kRead
                  ? ::pread(file_.get(), buffer_, op.length_bytes, offset)
                  : ::pwrite(file_.get(), buffer_, op.length_bytes, offset);
    } while (moved < 0 && errno == EINTR);
    done_ = {op.slot, moved < 0 ? -errno : static_cast<int32_t>(moved)};
    pending_ = true;
    return 1;
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    if (!pending_) {
      if (min > 0 && timeout_ns > 0) SleepFor(timeout_ns);
      return 0;
    }
    out[0] = done_;
    pending_ = false;
    return 1;
  }

 private:
  UniqueFd file_;
  std::byte* buffer_ = nullptr;
  IoCompletion done_ = {};
  bool pending_ = false;
};

}  // namespace

extern const EngineInfo kPsyncEngineInfo;
constinit const EngineInfo kPsyncEngineInfo = {
    .name = "psync",
    .help = "One pread or pwrite at a time, in the job's thread: depth 1",
    .issue_point = IssuePoint::kBeforeSubmit,
    .issue_doc = "just before pread or pwrite is called: slat is absent",
    .synchronous = true,
    .params = {},
    .create = []() -> std::unique_ptr<Engine> { return std::make_unique<PsyncEngine>(); },
    .probe = []() -> Result<void> { return {}; },
};

}  // namespace blkfair
