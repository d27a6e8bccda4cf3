// What a control-plane function returns: a value, or one Error that says what could not be done.
// Never thrown; programmer errors are CHECKs (base/check.h), per-I/O errors are data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace blkfair {

enum class ErrorKind : uint8_t {
  kUsage,        // bad scenario or command line: exit 2
  kUnmet,        // a requirement of the run is missing here: exit 77
  kKernel,       // the kernel, a file or a process refused: exit 3
  kInterrupted,  // the user stopped us: exit 130
};

// One failure. `message` is one sentence, verb + object + reason:
// "write 1 to /sys/kernel/config/nullb/bf0/power: Device or resource busy".
struct Error {
  ErrorKind kind = ErrorKind::kKernel;
  int os_errno = 0;  // 0 where no system call failed
  std::string message;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  using value_type = T;
};

inline tl::unexpected<Error> Fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, 0, std::move(message)});
}
inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// `what` is "verb object"; the reason is strerror(os_errno).
tl::unexpected<Error> FailErrno(int os_errno, std::string_view what,
                                ErrorKind kind = ErrorKind::kKernel);

}  // namespace blkfair

#define BLKFAIR_CONCAT_INNER(a, b) a##b
#define BLKFAIR_CONCAT(a, b) BLKFAIR_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Result<...>) from the current function, if it has one.
#define RETURN_IF_ERROR(expr)                                                \
  do {                                                                       \
    if (auto result_ = (expr); !result_) {                                   \
      return ::tl::unexpected<::blkfair::Error>(std::move(result_.error())); \
    }                                                                        \
  } while (false)

// ASSIGN_OR_RETURN(const int x, F()): declares x, or returns F's error.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_INNER(BLKFAIR_CONCAT(result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_INNER(tmp, lhs, expr)                                 \
  auto tmp = (expr);                                                           \
  if (!tmp) return ::tl::unexpected<::blkfair::Error>(std::move(tmp.error())); \
  lhs = std::move(*tmp)
