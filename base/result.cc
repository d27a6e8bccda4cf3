#include "base/result.h"

#include <fmt/format.h>

#include <cstring>

namespace blkfair {

tl::unexpected<Error> FailErrno(int os_errno, std::string_view what, ErrorKind kind) {
  return Fail(Error{kind, os_errno, fmt::format("{}: {}", what, std::strerror(os_errno))});
}

}  // namespace blkfair
