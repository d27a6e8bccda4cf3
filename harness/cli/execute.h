// Runs one scenario by the executor that was asked for: in a guest, on this host, or simulated.
#pragma once

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

// All of `repeats`, in that order; those that could not even start are errors. Guests in virtual
// time run side by side, one for each CPU that this process may use; everything else one after the
// other. After an interruption no further one is started: the result is then shorter, but never
// empty.
std::vector<Result<Execution>> ExecuteRepeats(const LoadedScenario& loaded,
                                              const ExecuteOptions& options,
                                              const std::vector<uint32_t>& repeats,
                                              ProgressLine* progress);

// The folder of the restore journals.
std::string JournalDir();

}  // namespace blkfair
