// Placement: on which CPUs a job's thread may run and how it is favoured there. Each function is
// about the calling thread.
#pragma once

#include <sched.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// The CPUs that this thread may run on, ascending.
std::vector<uint32_t> AllowedCpus();
// As the kernel writes such lists: "0-3,8".
std::string CpuListText(std::span<const uint32_t> cpus);

Result<void> PinThisThread(std::span<const uint32_t> cpus);

// Sets what the job says: cpus, nice, ioprio. The error names the key and what stands in its way.
Result<void> PlaceThisThread(const JobSpec& job);
// Where a thread may run and how it is favoured, read back. Holds no memory of its own: it may lie
// where processes share it.
struct Placement {
  cpu_set_t cpus = {};
  int nice = 0;
  int ioprio = -1;  // the kernel's number; -1: it did not say
};
// An error where that is not what the job says.
Result<Placement> ReadPlacement(const JobSpec& job);
void NotePlacement(const Placement& placement, JobRecord* record);

// The kernel's number for "none", "idle", "be/0".."be/7", "rt/0".."rt/7", and back
// (include/uapi/linux/ioprio.h).
int IoprioFrom(std::string_view name);
std::string IoprioName(int ioprio);

// Whether the guest of a scenario has the CPUs that its jobs name: kUsage, with both, where not.
Result<void> CheckGuestCpus(const Scenario& scenario);
// Whether this process may use the CPUs that a job names: kUsage, with both, where not.
Result<void> CheckCpus(const JobSpec& job);

}  // namespace blkfair
