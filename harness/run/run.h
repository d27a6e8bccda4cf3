// RunScenario: the orchestrator. require -> set up -> settle -> phases -> drain -> restore, and one
// Record of it, whatever happened. The same code serves the host executor, the guest's init and
// sim. Called by one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernel_fs.h"
#include "results/record.h"
#include "scenarios/language/catalog.h"
#include "scenarios/language/model.h"

namespace blkfair {

class Journal;
class ModuleLoader;
class NvmeIdentifier;

struct RunProgress {
  std::string phase;         // "set up", a phase's name, "restore"
  uint32_t phase_index = 0;  // 1-based among the scenario's phases; 0 outside them
  uint32_t phase_count = 0;
  int64_t elapsed_ns = 0;  // in this phase
  int64_t length_ns = 0;   // of this phase; 0 = unknown
};

struct RunOptions {
  const Scenario* scenario = nullptr;
  std::string canonical_toml;
  std::string scenario_hash;
  uint32_t repeat = 1;        // which of the scenario's whole runs this is
  std::string executor_name;  // "guest" | "host" | "sim"
  std::string time_name;      // "virtual" | "real" | "simulated"
  KernelFs* fs = nullptr;
  ModuleLoader* modules = nullptr;
  Journal* journal = nullptr;
  NvmeIdentifier* nvme = nullptr;    // see FixtureContext
  std::vector<std::string> destroy;  // likewise
  // A kernel that has just booted is given so long to come to rest before anything is set up.
  int64_t boot_work_limit_ns = 0;
  std::function<bool()> interrupted;                   // may be null
  std::function<void(const RunProgress&)> progress;    // may be null
  std::function<void(const PhaseRecord&)> phase_done;  // may be null
};

Record RunScenario(const RunOptions& options);

// The audit (harness/measure/audit.h) for whoever has a scenario run elsewhere: of the machine that
// this process is on, and of a kernel by its configuration, in place of the signs that it showed.
std::vector<AuditFinding> AuditThisMachine(bool real_time);
void AuditByConfig(std::string_view config, std::vector<AuditFinding>* audit);

// Whether every fixture of the scenario is simulated: it then runs as any user, in virtual time.
bool IsSimulated(const Scenario& scenario);

}  // namespace blkfair
