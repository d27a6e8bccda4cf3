// What is run several times and kept as it comes: a side of a comparison, a cell of a matrix. Used
// from the main thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/cli/execute.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/scenario_files.h"
#include "results/record.h"

namespace blkfair {

// A scenario as it is run here, and what was measured of it so far.
struct Side {
  std::string folder;   // of its records
  std::string kernel;   // as asked for
  std::string command;  // that is written down with the records
  LoadedScenario loaded;
  ExecuteOptions options;
  std::map<uint32_t, Record> records;  // by repeat

  std::vector<Record> List() const;
};

struct SideRun {
  Side* side = nullptr;
  uint32_t repeat = 1;
};

// All of `runs`. What came of each is stored in its side's folder as it ends: an interruption loses
// nothing. The first run that could not start or be stored is the error.
Result<void> RunSides(const std::vector<SideRun>& runs, ProgressLine* progress);

}  // namespace blkfair
