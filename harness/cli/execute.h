// Runs one scenario by the executor that was asked for: in a guest, on this host, or simulated.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/scenario_files.h"
#include "harness/guest/guest.h"
#include "results/record.h"

namespace blkfair {

enum class Where : uint8_t { kGuest, kHost };

struct ExecuteOptions {
  Where where = Where::kGuest;
  Kernel kernel;  // guest only
  GuestTime time = GuestTime::kVirtual;
  uint32_t repeat = 1;               // see RunOptions
  bool keep = false;                 // keep the work folder
  std::vector<std::string> destroy;  // see RunOptions
};

struct Execution {
  Record record;
  std::string console;      // the guest's console; empty elsewhere
  std::string kept_folder;  // empty unless the work folder was kept
};

// What keeps the run from starting at all is an error; everything later is in the record.
Result<Execution> Execute(const LoadedScenario& loaded, const ExecuteOptions& options,
                          ProgressLine* progress);

struct ExecuteTask {
  const LoadedScenario* loaded = nullptr;  // outlives the call
  ExecuteOptions options;
};

// All of `tasks`; what came of each, in their order, is absent where an interruption kept it from
// starting (the first is always started). Guests in virtual time run side by side, one for each
// CPU that this process may use; anything else one after the other. `done`, which may be null, is
// told of each as it ends, by one thread at a time.
std::vector<std::optional<Result<Execution>>> ExecuteAll(
    const std::vector<ExecuteTask>& tasks, ProgressLine* progress,
    const std::function<void(size_t, const Result<Execution>&)>& done);

// The folder of the restore journals.
std::string JournalDir();

}  // namespace blkfair
