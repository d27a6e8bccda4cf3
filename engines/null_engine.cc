// The null engine: no I/O at all. Every request completes at once; what remains is the cost of the
// job loop and its accounting.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "engines/engine.h"
#include "engines/wait.h"

namespace blkfair {

namespace {

class NullEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    done_.resize(args.iodepth);
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    const size_t room = done_.size() - count_;
    const size_t taken = std::min(ops.size(), room);
    for (size_t i = 0; i < taken; i++) {
      done_[count_ + i] = {ops[i].slot, static_cast<int32_t>(ops[i].length_bytes)};
    }
    count_ += taken;
    return static_cast<int>(taken);
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    if (count_ < min && timeout_ns > 0) SleepFor(timeout_ns);
    const size_t n = std::min(out.size(), count_);
    // From the end: which of several finished requests comes first means nothing here.
    count_ -= n;
    std::copy_n(done_.data() + count_, n, out.data());
    return static_cast<int>(n);
  }

 private:
  std::vector<IoCompletion> done_;
  size_t count_ = 0;
};

}  // namespace

extern const EngineInfo kNullEngineInfo;
constinit const EngineInfo kNullEngineInfo = {
    .name = "null",
    .help = "No I/O: every request completes at once, which shows the cost of the harness itself",
    .issue =
        [](const ParamValues&) {
          return IssueRule{IssuePoint::kAfterSubmit, "after the (empty) submit returned"};
        },
    .synchronous = false,
    .trims_async = true,
    .trims_by_ioctl = false,
    .params = {},
    .create = [](const EngineUse&) -> std::unique_ptr<Engine> {
      return std::make_unique<NullEngine>();
    },
    .probe = []() -> Result<void> { return {}; },
};

}  // namespace blkfair
