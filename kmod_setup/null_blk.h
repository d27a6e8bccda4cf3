// The parts of the null_blk fixture: its parameter table, and the module with the parameters that
// only the module takes. Private to kmod_setup.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/params.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/module.h"

namespace blkfair {

inline constexpr const char* kNullBlkModule = "null_blk";

std::span<const ParamSpec> NullBlkParams();
std::optional<std::string> CheckNullBlkParams(const ParamValues& params);
std::vector<std::string> NullBlkModules(const ParamValues& params);

// Whether the requests may sleep in the driver: asked for, or because memory is behind it.
bool NullBlkBlocks(const ParamValues& params);

// The parameters to load null_blk with. The tag set that its devices share takes its shape from
// these at first use and keeps it until the module is unloaded; devices of their own only need no
// devices to be there and no poll queues to be added.
ModuleParameters NullBlkModuleParameters(const ParamValues& params);
// The same as words of the kernel command line, for a kernel that has the driver built in.
std::vector<std::string> NullBlkBootParameters(const ParamValues& params);

// Why the driver that is there now (loaded or built in) does not do for `params`: kUnmet, with what
// would help. Fine when it matches, is not loaded, or can be loaded anew. Changes nothing.
Result<void> RequireNullBlkDriver(const ParamValues& params, const KernelFs& fs);

// Brings the driver in with the parameters it takes, unloading somebody else's unused one first,
// and reads them back. What was done is added to `objects`.
Result<void> EnsureNullBlkDriver(const ParamValues& params, const FixtureContext& context,
                                 KernelObjects* objects);

}  // namespace blkfair
