// The sim engine: requests go to the job's port of a simulated queue. It never waits: the executor
// of the simulation moves time and calls again.
#include <algorithm>

#include "base/check.h"
#include "engines/engine.h"
#include "engines/sim_device.h"

namespace blkfair {

namespace {

class SimEngine final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs& args) override {
    if (args.sim == nullptr) {
      return Fail(
          ErrorKind::kUsage,
          "engine sim runs on the queues of a sim fixture only, not on " + args.queue->Name());
    }
    port_ = args.sim;
    return {};
  }

  int Submit(std::span<const IoOp> ops) override {
    const size_t taken = std::min<size_t>(ops.size(), port_->room());
    for (size_t i = 0; i < taken; i++) port_->Enqueue(ops[i]);
    return static_cast<int>(taken);
  }

  int Reap(std::span<IoCompletion> out, uint32_t /*min*/, int64_t /*timeout_ns*/) override {
    return static_cast<int>(port_->Collect(out));
  }

 private:
  SimPort* port_ = nullptr;
};

}  // namespace

extern const EngineInfo kSimEngineInfo;
constinit const EngineInfo kSimEngineInfo = {
    .name = "sim",
    .help = "A simulated queue in virtual time; for fixture sim",
    .issue =
        [](const ParamValues&) {
          return IssueRule{IssuePoint::kAtEnqueue,
                           "when the request entered the simulated queue: slat is absent"};
        },
    .synchronous = false,
    .trims_async = true,
    .trims_by_ioctl = false,
    .params = {},
    .create = [](const EngineUse&) -> std::unique_ptr<Engine> {
      return std::make_unique<SimEngine>();
    },
    .probe = []() -> Result<void> { return {}; },
};

}  // namespace blkfair
