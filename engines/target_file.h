// How every engine that reads a file opens it: read-only unless the job writes, O_DIRECT when the
// job asks for it. Called by the job's thread.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "engines/engine.h"

namespace blkfair {

// args.queue->path as args say. An O_DIRECT that the target cannot do is an error, never dropped:
// it changes what is measured.
Result<UniqueFd> OpenTarget(const EngineOpenArgs& args);

// As Engine::Sync, of what OpenTarget opened.
int SyncTarget(int fd);

}  // namespace blkfair
