// The exit codes of every subcommand (README, "Exit codes").
#pragma once

namespace blkfair {

inline constexpr int kExitPass = 0;
inline constexpr int kExitFail = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitError = 3;
inline constexpr int kExitInconclusive = 4;
inline constexpr int kExitUnmet = 77;
inline constexpr int kExitInterrupted = 130;

}  // namespace blkfair
