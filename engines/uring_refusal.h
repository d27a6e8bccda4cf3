// Why io_uring_setup failed, in words a user can act on. A pure function; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace blkfair {

// `os_errno` is that of io_uring_setup, `disabled` the value of the sysctl kernel.io_uring_disabled
// (from 6.6, in kernels that have io_uring; empty where there is none). `who` opens the sentence.
// kUnmet, except for an errno that says nothing about the kernel or its policy.
Error UringRefusal(std::string_view who, int os_errno, std::optional<int64_t> disabled);

}  // namespace blkfair
