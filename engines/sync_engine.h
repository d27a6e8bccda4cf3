// SyncEngine: one read or write at a time, by a system call that returns when it is done. Shared by
// the engines that differ in the call alone. Opened, used and destroyed by the job's thread.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/fd.h"
#include "engines/engine.h"
#include "engines/target_file.h"
#include "engines/wait.h"

namespace blkfair {

// `CallT::Open(args)` checks and notes what the call needs; `CallT::Transfer(fd, buffer, op)` makes
// it: bytes moved, or -1 with errno.
template <typename CallT>
class SyncEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    CHECK(args.iodepth == 1);
    buffer_ = args.buffers.data();
    RETURN_IF_ERROR(call_.Open(args));
    ASSIGN_OR_RETURN(file_, OpenTarget(args));
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    if (pending_) return 0;
    const IoOp& op = ops.front();
    ssize_t moved;
    do {
      moved = call_.Transfer(file_.get(), buffer_, op);
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

  int Sync() override { return SyncTarget(file_.get()); }

 private:
  [[no_unique_address]] CallT call_;
  UniqueFd file_;
  std::byte* buffer_ = nullptr;
  IoCompletion done_ = {};
  bool pending_ = false;
};

}  // namespace blkfair
