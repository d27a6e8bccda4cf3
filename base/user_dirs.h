// Where blkfair keeps what it keeps for a user, by the XDG base directory rules.
#pragma once

#include <string>

namespace blkfair {

// $XDG_CACHE_HOME/blkfair, or ~/.cache/blkfair: kernels and package lists; safe to delete.
std::string CacheDir();
// $XDG_STATE_HOME/blkfair, or ~/.local/state/blkfair: the restore journals.
std::string StateDir();

}  // namespace blkfair
