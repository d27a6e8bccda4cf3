// What the image builder puts into a guest and its init finds there: one place for both sides.
#pragma once

#include <cstdint>
#include <string_view>

namespace blkfair::guest {

inline constexpr std::string_view kScenarioPath = "/scenario.toml";  // canonical
inline constexpr std::string_view kCommandPath = "/command";  // argv, one per line; may be absent
// "time=virtual|real" and "limit_ns=N": how long, on the guest's clock, the work may take.
inline constexpr std::string_view kRunPath = "/run.conf";
inline constexpr std::string_view kConsole = "/dev/ttyS0";  // progress, the kernel's messages
inline constexpr std::string_view kResults = "/dev/ttyS1";  // frames

// How long, on the guest's clock, its kernel's own boot work may keep a run waiting.
inline constexpr int64_t kBootWorkLimitNs = 30'000'000'000;

// How init's lines on the console begin; the host takes the first as the sign of life.
inline constexpr std::string_view kAlive = "blkfair: ";
// "blkfair: at INDEX/COUNT ELAPSED_MS/LENGTH_MS PHASE"
inline constexpr std::string_view kProgress = "blkfair: at ";

}  // namespace blkfair::guest
