#include "harness/run/job_setup.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "engines/discard.h"
#include "engines/engine_table.h"

namespace blkfair {

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
// A huge page that holds less than this would waste more than the kernel saves by it.
constexpr uint64_t kHugePageLeastBytes = kHugePageBytes / 8;

// The part of `total` bytes, from the first on, that goes into huge pages: whole ones.
size_t HugeBytesOf(size_t total) {
  return (total + kHugePageBytes - kHugePageLeastBytes) / kHugePageBytes * kHugePageBytes;
}

Result<JobSetup> SetUpJob(const PhasePlan& phase, const JobPlan& plan) {
  CHECK(plan.spec != nullptr && plan.queue != nullptr);
  const JobSpec& spec = *plan.spec;
  JobSetup setup;
  setup.plan = plan;
  setup.engine = FindEngine(spec.engine);
  if (setup.engine == nullptr) {
    return Fail(ErrorKind::kUsage,
                fmt::format("job {}: there is no engine \"{}\"", spec.name, spec.engine));
  }
  setup.trims_by_ioctl = Trims(spec.rw) && spec.trim == TrimWay::kIoctl;
  if ((setup.engine->synchronous || setup.trims_by_ioctl) && spec.iodepth != 1) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("job {}: {} is synchronous, so iodepth = {} cannot be reached (use "
                    "iodepth = 1 and numjobs = {})",
                    spec.name, setup.trims_by_ioctl ? "a trim by ioctl" : "engine " + spec.engine,
                    spec.iodepth, spec.iodepth));
  }
  if (spec.direct && kPageBytes % std::max(plan.queue->dma_alignment_bytes, 1u) != 0) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("job {}: {} wants buffers at multiples of {} B (dma_alignment), and "
                    "blkfair's are at multiples of {} B",
                    spec.name, plan.queue->Name(), plan.queue->dma_alignment_bytes, kPageBytes));
  }
  ASSIGN_OR_RETURN(setup.workload, Workload::Make(spec, plan.clone, *plan.queue, plan.seed));
  setup.config.iodepth = spec.iodepth;
  setup.config.batch_submit = std::min(spec.batch_submit, spec.iodepth);
  setup.config.batch_complete = std::min(spec.batch_complete, spec.iodepth);
  setup.config.bs_bytes = static_cast<uint32_t>(spec.bs_bytes);
  setup.issue = setup.trims_by_ioctl ? kDiscardIssue : setup.engine->issue(spec.engine_params);
  setup.config.issue_point = setup.issue.point;
  setup.config.think_time_ns = spec.think_time_ns;
  setup.config.start_delay_ns = spec.start_delay_ns;
  setup.config.arrivals = Arrivals(spec, plan.clone, plan.seed);
  setup.config.drain_limit_ns = phase.drain_limit_ns;
  setup.shape.reads = Reads(spec.rw);
  setup.shape.writes = Writes(spec.rw);
  setup.shape.trims = Trims(spec.rw);
  setup.shape.has_slat = HasSlat(setup.issue.point);
  setup.shape.open_loop = setup.config.arrivals.open_loop();
  setup.shape.iodepth = setup.config.iodepth;
  setup.shape.bs_bytes = setup.config.bs_bytes;
  setup.shape.batch_submit = setup.config.batch_submit;
  setup.shape.cell_ns = phase.series_cell_ns;
  setup.shape.length_ns = phase.ramp_ns + phase.runtime_ns;
  return setup;
}

}  // namespace

std::string JobSetup::Name() const {
  if (plan.spec->numjobs <= 1) return fmt::format("job {}", plan.spec->name);
  return fmt::format("job {} (clone {})", plan.spec->name, plan.clone);
}

std::unique_ptr<Engine> JobSetup::MakeEngine() const {
  if (trims_by_ioctl) return MakeDiscardEngine();
  return engine->create({plan.spec->engine_params, Trims(plan.spec->rw)});
}

Result<std::vector<JobSetup>> SetUpJobs(const PhasePlan& plan) {
  std::vector<JobSetup> jobs;
  jobs.reserve(plan.jobs.size());
  for (const JobPlan& job : plan.jobs) {
    ASSIGN_OR_RETURN(JobSetup setup, SetUpJob(plan, job));
    jobs.push_back(std::move(setup));
  }
  return jobs;
}

IoBuffers::IoBuffers(IoBuffers&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      stride_(other.stride_),
      mapped_(std::exchange(other.mapped_, {})) {}

IoBuffers::~IoBuffers() {
  if (!bytes_.empty()) ::munmap(mapped_.data(), mapped_.size());
}

size_t IoBuffers::StrideOf(uint64_t bs_bytes) {
  return (bs_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

size_t IoBuffers::MemoryOf(uint32_t iodepth, uint64_t bs_bytes) {
  const size_t total = StrideOf(bs_bytes) * iodepth;
  return std::max(total, HugeBytesOf(total));
}

Result<IoBuffers> IoBuffers::Take(uint32_t iodepth, uint64_t bs_bytes) {
  IoBuffers buffers;
  buffers.stride_ = StrideOf(bs_bytes);
  const size_t total = buffers.stride_ * iodepth;
  const size_t huge = HugeBytesOf(total);
  const size_t length = huge == 0 ? total : std::max(total, huge) + kHugePageBytes;
  void* memory =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return FailErrno(errno, fmt::format("take {} KiB for {} buffers", total / 1024, iodepth));
  }
  buffers.mapped_ = {static_cast<std::byte*>(memory), length};
  const size_t skipped = huge == 0 ? 0 : -reinterpret_cast<uintptr_t>(memory) % kHugePageBytes;
  buffers.bytes_ = buffers.mapped_.subspan(skipped, total);
  // Where the kernel has none, small pages do as well.
  if (huge != 0) ::madvise(buffers.bytes_.data(), huge, MADV_HUGEPAGE);
  for (size_t at = 0; at < total; at += kPageBytes) buffers.bytes_[at] = std::byte{0};
  return buffers;
}

void IoBuffers::Fill(uint64_t seed) {
  for (size_t at = 0; at < bytes_.size(); at += sizeof(uint64_t)) {
    const uint64_t word = Mix64(seed ^ at);
    std::memcpy(bytes_.data() + at, &word, sizeof word);
  }
}

EngineOpenArgs OpenArgsOf(const JobSetup& setup, const IoBuffers& buffers, SimPort* port) {
  const JobSpec& spec = *setup.plan.spec;
  EngineOpenArgs args;
  args.queue = setup.plan.queue;
  args.iodepth = spec.iodepth;
  args.bs_bytes = static_cast<uint32_t>(spec.bs_bytes);
  args.direct = spec.direct;
  args.writes = Writes(spec.rw) || Trims(spec.rw);
  args.trims = Trims(spec.rw);
  args.buffers = buffers.bytes();
  args.buffer_stride = buffers.stride();
  args.params = &spec.engine_params;
  args.sim = port;
  return args;
}

int WriteBack(const JobSetup& setup, uint32_t outstanding, Engine* engine) {
  const bool buffered = !setup.plan.spec->direct && Writes(setup.plan.spec->rw);
  return buffered && outstanding == 0 ? -engine->Sync() : 0;
}

JobRecord IdentityOf(const JobSetup& setup) {
  JobRecord record;
  record.job = setup.plan.spec->name;
  record.clone = setup.plan.clone;
  record.queue = setup.plan.queue->Name();
  record.engine = setup.engine->name;
  record.issue_point = setup.issue.doc;
  record.iodepth = setup.plan.spec->iodepth;
  return record;
}

JobRecord RecordOf(const JobSetup& setup, uint32_t outstanding, int write_back_errno,
                   JobAccount* account) {
  JobRecord record = IdentityOf(setup);
  account->Finish(outstanding, &record);
  if (write_back_errno != 0) record.errors["sync " + ErrnoName(write_back_errno)] = 1;
  if (record.open_loop) {
    record.open_loop->rate_iops = setup.plan.spec->rate_iops;
    record.open_loop->process = RateProcessName(setup.plan.spec->rate_process);
  }
  return record;
}

JobRecord RecordOf(const JobSetup& setup, uint32_t outstanding, Engine* engine,
                   JobAccount* account) {
  return RecordOf(setup, outstanding, WriteBack(setup, outstanding, engine), account);
}

}  // namespace blkfair
