// A phase in real time, on targets that every machine has: /dev/zero and whatever else has a path.
// Jobs are added one by one, each on a queue of its own.
#pragma once

#include <deque>
#include <string>

#include "base/kernel_fs.h"
#include "harness/run/thread_executor.h"

namespace blkfair {

struct RealPhase {
  std::deque<Queue> queues;
  std::deque<JobSpec> jobs;
  PhasePlan plan;
  KernelFs fs{KernelRoots::Real()};

  RealPhase() {
    constexpr int64_t kMs = 1'000'000;
    plan.ramp_ns = 200 * kMs;  // long enough for every thread to run on a busy machine
    plan.runtime_ns = 300 * kMs;
    plan.series_cell_ns = 10 * kMs;
  }

  JobSpec& Add(const char* engine, const char* path, uint32_t clones = 1) {
    Queue& queue = queues.emplace_back();
    queue.fixture = "zero";
    queue.index = static_cast<uint32_t>(queues.size() - 1);
    queue.kind = QueueKind::kChar;
    queue.path = path;
    JobSpec& job = jobs.emplace_back();
    job.name = "job" + std::to_string(queue.index);
    job.engine = engine;
    job.direct = false;
    job.size_bytes = uint64_t{1} << 20;
    job.numjobs = clones;
    for (uint32_t i = 0; i < clones; i++) plan.jobs.push_back({&job, i, &queue, i});
    return job;
  }

  Result<PhaseResult> Run(const PhaseHooks& hooks = {}) {
    return ThreadExecutor(&fs).RunPhase(plan, hooks);
  }
};

}  // namespace blkfair
