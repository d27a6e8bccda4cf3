// A JobLoop driven by hand: a clock that the test sets and an engine that does what the test says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engines/engine.h"
#include "harness/run/job_loop_steps.h"

namespace blkfair {

// Takes every request unless told otherwise; completes one when the test says so.
class ScriptedEngine final : public Engine {
 public:
  explicit ScriptedEngine(ManualClock* clock) : clock_(clock) {}

  Result<void> Open(const EngineOpenArgs&) override { return {}; }

  int Submit(std::span<const IoOp> ops) override {
    offered.push_back(ops.size());
    clock_->Set(clock_->NowNs() + submit_cost_ns);
    int taken = static_cast<int>(ops.size());
    if (!answers.empty()) {
      taken = answers.front();
      answers.pop_front();
    }
    for (int i = 0; i < taken; i++) in_flight.push_back(ops[static_cast<size_t>(i)]);
    return taken;
  }

  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    asked_min.push_back(min);
    asked_timeout_ns.push_back(timeout_ns);
    if (reap_error != 0) return -reap_error;
    const size_t count = std::min(out.size(), done.size());
    std::copy_n(done.begin(), count, out.begin());
    done.erase(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<int>(count);
  }

  // The oldest request in flight comes back; `result` 0: in full.
  void Finish(int32_t result = 0) {
    const IoOp op = in_flight.front();
    in_flight.pop_front();
    done.push_back({op.slot, result == 0 ? static_cast<int32_t>(op.length_bytes) : result});
  }

  int64_t submit_cost_ns = 0;
  std::deque<int> answers;  // of Submit, in order; then everything is taken
  int reap_error = 0;
  std::deque<IoOp> in_flight;
  std::deque<IoCompletion> done;
  std::vector<size_t> offered;
  std::vector<uint32_t> asked_min;
  std::vector<int64_t> asked_timeout_ns;

 private:
  ManualClock* clock_;
};

struct Crank {
  struct Options {
    JobLoopConfig loop = {};
    Rw rw = Rw::kRandRead;
    int64_t barrier_ns = 1000;
    int64_t ramp_ns = 100;
    int64_t runtime_ns = 1000;
    int64_t cell_ns = 100;
  };

  explicit Crank(const Options& options)
      : engine(&clock),
        account(ShapeOf(options)),
        loop(options.loop, WorkloadOf(options), &engine, &account, ManualClockView(&clock)) {
    times.barrier_ns = options.barrier_ns;
    times.open_ns = options.barrier_ns + options.ramp_ns;
    times.close_ns = times.open_ns + options.runtime_ns;
    clock.Set(times.barrier_ns);
    loop.Start(times);
  }

  // The time since the barrier becomes `at_ns`.
  void At(int64_t at_ns) { clock.Set(times.barrier_ns + at_ns); }
  // At `at_ns`, `count` requests have come back in full: reap them and submit what may follow.
  void FinishAt(int64_t at_ns, int count = 1) {
    At(at_ns);
    for (int i = 0; i < count; i++) engine.Finish();
    ReapAndSubmit();
  }
  void ReapAndSubmit() {
    loop.Reap(need);
    if (!loop.done()) Submit();
  }
  void Submit() { need = loop.Submit(); }
  int64_t DeadlineAt() const { return need.deadline_ns - times.barrier_ns; }

  JobRecord Finish() {
    JobRecord record;
    account.Finish(loop.outstanding(), &record);
    return record;
  }

  static JobAccount::Shape ShapeOf(const Options& options) {
    JobAccount::Shape shape;
    shape.reads = Reads(options.rw);
    shape.writes = Writes(options.rw);
    shape.trims = Trims(options.rw);
    shape.has_slat = HasSlat(options.loop.issue_point);
    shape.open_loop = options.loop.arrivals.open_loop();
    shape.iodepth = options.loop.iodepth;
    shape.bs_bytes = options.loop.bs_bytes;
    shape.batch_submit = options.loop.batch_submit;
    shape.cell_ns = options.cell_ns;
    shape.length_ns = options.ramp_ns + options.runtime_ns;
    return shape;
  }
  static Workload WorkloadOf(const Options& options) {
    JobSpec spec;
    spec.rw = options.rw;
    spec.bs_bytes = options.loop.bs_bytes;
    Queue queue;
    queue.size_bytes = uint64_t{1} << 20;
    return *Workload::Make(spec, 0, queue, 1);
  }

  ManualClock clock;
  ScriptedEngine engine;
  JobAccount account;
  JobLoop<ManualClockView> loop;
  PhaseTimes times;
  Need need;
};

}  // namespace blkfair
