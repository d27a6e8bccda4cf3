// Scenario files as the command line names them: files, and folders that stand for the *.toml in
// them. Reads and checks all before anything else happens.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

struct LoadedScenario {
  std::string path;
  Scenario scenario;
  std::string canonical_toml;
  std::string hash;
};

// Prints every problem to stderr, one line each, and fails (kUsage, message already printed) when
// there is any.
Result<std::vector<LoadedScenario>> LoadScenarios(const std::vector<std::string>& paths,
                                                  const std::vector<std::string>& overrides);

// The scenario that a record carries, with overrides. kUsage: one problem a line.
Result<Scenario> StoredScenario(const Record& record, const std::vector<std::string>& overrides);

}  // namespace blkfair
