// What the io_uring_cmd engine needs of the outside, so that it can be run where there is no NVMe:
// the conformance tests give it a namespace of their own making. Any thread.
#pragma once

#include <memory>

#include "engines/engine.h"
#include "engines/nvme_passthrough.h"

namespace blkfair {

using OpenNvmeFn = Result<NvmeTarget> (*)(const EngineOpenArgs& args);

// The engine of this name, with these switches, on what `open` opens.
std::unique_ptr<Engine> MakeIoUringCmdEngine(const ParamValues& params, OpenNvmeFn open);

}  // namespace blkfair
