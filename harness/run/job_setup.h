// What both executors do with a phase's plan before and after it runs: check it, shape each clone's
// loop and account, take its buffers, and turn what was counted into a JobRecord.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engines/engine.h"
#include "harness/run/executor.h"
#include "harness/run/job_account.h"
#include "harness/run/job_loop.h"
#include "harness/run/workload.h"

namespace blkfair {

// One clone, checked and ready to be opened.
struct JobSetup {
  JobPlan plan;
  const EngineInfo* engine = nullptr;
  bool trims_by_ioctl = false;  // instead of the engine's own requests
  IssueRule issue = {};
  Workload workload;
  JobLoopConfig config;
  JobAccount::Shape shape;

  // "job heavy (clone 2)", for messages.
  std::string Name() const;
  // What does the clone's I/O.
  std::unique_ptr<Engine> MakeEngine() const;
  bool InProcess() const { return plan.spec->isolation == Isolation::kProcess; }
};

// Every clone of the plan; kUsage for the first that cannot be run as asked.
Result<std::vector<JobSetup>> SetUpJobs(const PhasePlan& plan);

// Page-aligned memory for iodepth transfers, each at a page boundary of its own, present from the
// start (no page fault is left to the hot loop), in huge pages where they would be filled at least
// in part: the kernel then finds a transfer's memory with less work. Filled from `seed` for jobs
// that write.
class IoBuffers {
 public:
  IoBuffers() = default;
  IoBuffers(IoBuffers&& other) noexcept;
  IoBuffers& operator=(IoBuffers&&) = delete;
  ~IoBuffers();

  // Bytes from one transfer's memory to the next one's.
  static size_t StrideOf(uint64_t bs_bytes);
  // Bytes of memory that this many transfers take, what huge pages round up included.
  static size_t MemoryOf(uint32_t iodepth, uint64_t bs_bytes);
  static Result<IoBuffers> Take(uint32_t iodepth, uint64_t bs_bytes);
  void Fill(uint64_t seed);
  // Requests that never came back may still write to this memory: it is then never given back.
  void Abandon() { bytes_ = {}; }

  std::span<std::byte> bytes() const { return bytes_; }
  size_t stride() const { return stride_; }

 private:
  std::span<std::byte> bytes_;
  size_t stride_ = 0;
  std::span<std::byte> mapped_;  // what bytes_ is a part of
};

// The arguments to open the clone's engine with; its buffers and port are the caller's.
EngineOpenArgs OpenArgsOf(const JobSetup& setup, const IoBuffers& buffers, SimPort* port);

// Which clone of which job it is, and how it does its I/O: without any figures.
JobRecord IdentityOf(const JobSetup& setup);
// After the drain: a job that wrote through the page cache writes it back. The errno of what fails
// then, which belongs among its errors; 0 otherwise.
int WriteBack(const JobSetup& setup, uint32_t outstanding, Engine* engine);
// After that. `account` is used up.
JobRecord RecordOf(const JobSetup& setup, uint32_t outstanding, int write_back_errno,
                   JobAccount* account);
// Both.
JobRecord RecordOf(const JobSetup& setup, uint32_t outstanding, Engine* engine,
                   JobAccount* account);

}  // namespace blkfair
