// Folders that are expensive to fill, kept below CacheDir() (base/user_dirs.h): they appear whole
// or not at all. Any number of processes may ask at once; one of them fills.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace blkfair {

// ROOT/NAME. When it is not there, `fill` is given an empty folder beside it, which takes the name
// once `fill` succeeded. Waits while another process fills the same name, kInterrupted once
// `interrupted` (may be null) says so.
Result<std::string> CachedFolder(const std::string& root, const std::string& name,
                                 const std::function<Result<void>(const std::string&)>& fill,
                                 const std::function<bool()>& interrupted = {});

}  // namespace blkfair
