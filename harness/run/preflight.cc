#include "harness/run/preflight.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>

namespace blkfair {

namespace {

// io_setup counts what is asked for against fs.aio-max-nr (ioctx_alloc in fs/aio.c, 6.1 to 7.3) and
// answers EAGAIN beyond. Found out here, no job has started yet, and the numbers can be told.
Result<void> CheckAioLimit(const KernelFs& fs, const std::vector<JobSetup>& jobs) {
  int64_t need = 0;
  for (const JobSetup& job : jobs) {
    if (job.engine->name == "libaio" && !job.trims_by_ioctl) need += job.config.iodepth;
  }
  if (need == 0) return {};
  const std::string folder = fs.roots().proc + "/sys/fs/";
  ASSIGN_OR_RETURN(const int64_t used, fs.ReadInt(folder + "aio-nr"));
  ASSIGN_OR_RETURN(const int64_t limit, fs.ReadInt(folder + "aio-max-nr"));
  if (used + need <= limit) return {};
  return Fail(ErrorKind::kKernel,
              fmt::format("engine libaio: the jobs of this phase need {} requests, {} are in use "
                          "and fs.aio-max-nr is {} (raise it, or lower iodepth or numjobs)",
                          need, used, limit));
}

// Whoever has it may lock any amount.
bool MayLockAnything(const KernelFs& fs) {
  const Result<std::string> status = fs.Read(fs.roots().proc + "/self/status");
  if (!status) return false;
  constexpr std::string_view kKey = "CapEff:\t";
  const size_t at = status->find(kKey);
  if (at == std::string::npos) return false;
  uint64_t effective = 0;
  const char* const digits = status->data() + at + kKey.size();
  std::from_chars(digits, status->data() + status->size(), effective, 16);
  return (effective >> CAP_IPC_LOCK & 1) != 0;
}

// The kernel counts whole pages, for all rings of a user together (__io_account_mem in
// io_uring/rsrc.c, 6.1 to 7.3), and of huge ones all of it.
Result<void> CheckLockedMemory(const KernelFs& fs, const std::vector<JobSetup>& jobs) {
  uint64_t buffers = 0;
  uint64_t need_bytes = 0;
  std::string_view engine;
  for (const JobSetup& job : jobs) {
    const JobSpec& spec = *job.plan.spec;
    if (job.trims_by_ioctl || job.engine->pins_buffers == nullptr ||
        !job.engine->pins_buffers(spec.engine_params)) {
      continue;
    }
    engine = job.engine->name;
    buffers += spec.iodepth;
    need_bytes += IoBuffers::MemoryOf(spec.iodepth, spec.bs_bytes);
  }
  if (need_bytes == 0 || MayLockAnything(fs)) return {};
  rlimit limit = {};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (need_bytes <= limit.rlim_cur) return {};  // RLIM_INFINITY is the largest number there is
  return Fail(ErrorKind::kUnmet,
              fmt::format("engine {}: registering the {} buffers of this phase needs {} KiB of "
                          "locked memory, RLIMIT_MEMLOCK is {} KiB (raise it, or set fixed_buffers "
                          "= false, which measures something else)",
                          engine, buffers, need_bytes / 1024, limit.rlim_cur / 1024));
}

// Open files: a job's own (its device, its ring) and a queue's (the debugfs files that are
// sampled).
constexpr uint64_t kFilesOfJob = 6;
constexpr uint64_t kFilesOfQueue = 32;
constexpr uint64_t kFilesOfOurs = 64;

// The soft limit is raised to what is needed (select() is nobody's here); beyond the hard one only
// root gets, and whoever else cannot is told.
Result<void> AllowOpenFiles(const std::vector<JobSetup>& jobs) {
  std::set<std::string> queues;
  for (const JobSetup& job : jobs) queues.insert(job.plan.spec->queue.Name());
  const uint64_t need = jobs.size() * kFilesOfJob + queues.size() * kFilesOfQueue + kFilesOfOurs;
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (need <= limit.rlim_cur) return {};
  const rlimit raised = {.rlim_cur = need, .rlim_max = std::max<rlim_t>(need, limit.rlim_max)};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return {};
  return Fail(
      ErrorKind::kUnmet,
      fmt::format("{} jobs over {} queues need {} open files, RLIMIT_NOFILE allows {} (raise "
                  "it, or lower numjobs)",
                  jobs.size(), queues.size(), need, limit.rlim_max));
}

}  // namespace

Result<void> CheckLimits(const KernelFs& fs, const std::vector<JobSetup>& jobs) {
  RETURN_IF_ERROR(AllowOpenFiles(jobs));
  RETURN_IF_ERROR(CheckAioLimit(fs, jobs));
  return CheckLockedMemory(fs, jobs);
}

}  // namespace blkfair
