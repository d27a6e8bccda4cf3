#include "engines/uring_refusal.h"

#include <cerrno>
#include <string>

namespace blkfair {

namespace {

// io_uring_allowed in io_uring/io_uring.c (6.6 to 7.3): 2 refuses everybody, 1 whoever is neither
// privileged nor in the group of kernel.io_uring_group.
std::string Forbidden(std::optional<int64_t> disabled) {
  if (disabled.value_or(0) == 1) {
    return "the sysctl kernel.io_uring_disabled is 1, which leaves io_uring to CAP_SYS_ADMIN and "
           "to members of kernel.io_uring_group";
  }
  if (disabled.value_or(0) != 0) {
    return "the sysctl kernel.io_uring_disabled is " + std::to_string(*disabled) +
           ", which turns io_uring off for everybody (0 allows it)";
  }
  return "io_uring is forbidden here, and not by a sysctl: the seccomp filter of a container or a "
         "security module does that";
}

}  // namespace

Error UringRefusal(std::string_view who, int os_errno, std::optional<int64_t> disabled) {
  const auto unmet = [&](const std::string& why) {
    return Error{ErrorKind::kUnmet, os_errno, std::string(who) + ": " + why};
  };
  switch (os_errno) {
    case EPERM:
    case EACCES:
      return unmet(Forbidden(disabled));
    case ENOSYS:
      // The sysctl exists only where io_uring does.
      if (disabled) return unmet("this kernel has io_uring, but a seccomp filter hides it");
      return unmet(
          "the kernel has no io_uring (older than 5.1, or without CONFIG_IO_URING), or a seccomp "
          "filter hides it");
    case EINVAL:
      return unmet("the kernel's io_uring is too old for what is asked of it");
    case ENOMEM:
      return unmet(
          "the rings need more locked memory than RLIMIT_MEMLOCK allows (kernels before 5.12 count "
          "them): raise it, or lower iodepth");
    default:
      return FailErrno(os_errno, std::string(who) + ": io_uring_setup").value();
  }
}

}  // namespace blkfair
