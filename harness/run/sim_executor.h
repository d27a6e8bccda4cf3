// SimExecutor: runs phases in virtual time. All jobs of a phase are driven from one event queue, in
// one thread, against simulated queues whose state (who is active, who holds tags) lives on from
// phase to phase. Deterministic: the same plans give the same results, bit for bit.
#pragma once

#include <cstdint>
#include <functional>

#include "engines/sim_device.h"
#include "harness/run/executor.h"

namespace blkfair {

class SimExecutor : public PhaseExecutor {
 public:
  SimExecutor() = default;

  Result<PhaseResult> RunPhase(const PhasePlan& plan, const PhaseHooks& hooks) override;
  int64_t NowNs() const override { return world_.NowNs(); }
  bool Sleep(int64_t ns, const std::function<bool()>& interrupted) override;
  ClockFacts clock_facts() const override;

  // For sampling: tags held, waiters and active users of each queue that a phase has used so far.
  const SimWorld& world() const { return world_; }

 private:
  SimWorld world_;
};

}  // namespace blkfair
