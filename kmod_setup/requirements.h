// What a fixture needs of the machine, as data with reasons. A missing piece is a skip that names
// it, never a failure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/kernel_fs.h"
#include "base/result.h"
#include "kmod_setup/module.h"

namespace blkfair {

struct Requirement {
  std::string_view name;    // "root", "configfs"
  std::string_view reason;  // what it is needed for
  // Empty when it is there, otherwise what is missing and a way forward. Changes nothing.
  std::string (*missing)(const KernelFs&, ModuleLoader&);
};

extern const Requirement kRootRequirement;
extern const Requirement kConfigfsRequirement;
extern const Requirement kDebugfsRequirement;
extern const Requirement kNullBlkRequirement;
extern const Requirement kNvmeRequirement;
extern const Requirement kNvmeLoopRequirement;

// kUnmet with one sentence per missing requirement; `who` is "fixture pair".
Result<void> CheckRequirements(std::span<const Requirement* const> requirements,
                               std::string_view who, const KernelFs& fs, ModuleLoader& modules);

}  // namespace blkfair
