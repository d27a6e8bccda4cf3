// The audit: what a reviewer asks of a machine before believing its figures, each with its value
// and, where it weakens them, a warning. Read before the first phase, by the orchestrator's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/kernel_fs.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

using Audit = std::vector<AuditFinding>;

// Debug features and mitigations of the running kernel. `log`: what it has logged since its boot,
// as far as that is known. Its configuration decides where it can be read, else signs of life.
void AuditKernel(const KernelFs& fs, std::string_view log, bool real_time, Audit* audit);
// The debug features as a kernel's configuration has them, in place of what signs said.
void AuditConfig(std::string_view config, Audit* audit);
// What else runs on this machine, its memory, and who sets its clock rate. Under virtual time none
// of it changes a figure, and nothing is warned of. Takes a fifth of a second.
void AuditMachine(const KernelFs& fs, bool real_time, Audit* audit);
// Whether the memory of a guest suffices: that much can be said and repeats exactly.
void AuditMemory(const KernelFs& fs, Audit* audit);
// Settings of a fixture's queues that came with the kernel unless somebody chose them.
void AuditFixture(const Scenario& scenario, const FixtureRecord& fixture, Audit* audit);

// The kernel's log as a reader with the privilege sees it; empty without.
std::string ReadKernelLog();

}  // namespace blkfair
