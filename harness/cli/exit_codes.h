// The exit codes of every subcommand (README, "Exit codes").
#pragma once

#include "base/result.h"

namespace blkfair {

inline constexpr int kExitPass = 0;
inline constexpr int kExitFail = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitError = 3;
inline constexpr int kExitInconclusive = 4;
inline constexpr int kExitUnmet = 77;
inline constexpr int kExitInterrupted = 130;

// Of a command that ends with this error.
constexpr int ExitCodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kExitUsage;
    case ErrorKind::kUnmet:
      return kExitUnmet;
    case ErrorKind::kInterrupted:
      return kExitInterrupted;
    case ErrorKind::kKernel:
      break;
  }
  return kExitError;
}

}  // namespace blkfair
