#include <algorithm>
#include <array>

#include "base/check.h"
#include "results/fairness/assertion.h"

namespace blkfair {

#define BLKFAIR_ASSERTIONS(X) \
  X(Share)                    \
  X(Ratio)                    \
  X(Slowdown)                 \
  X(Gap)                      \
  X(Jain)                     \
  X(Bound)                    \
  X(WorkConservation)

#define BLKFAIR_DECLARE(name) extern const AssertionInfo k##name##AssertionInfo;
BLKFAIR_ASSERTIONS(BLKFAIR_DECLARE)
#undef BLKFAIR_DECLARE

namespace {

#define BLKFAIR_ROW(name) &k##name##AssertionInfo,
constexpr std::array kAssertions = {BLKFAIR_ASSERTIONS(BLKFAIR_ROW)};
#undef BLKFAIR_ROW

}  // namespace

std::span<const AssertionInfo* const> AllAssertions() { return kAssertions; }

const AssertionInfo* FindAssertion(std::string_view name) {
  const auto it = std::find_if(kAssertions.begin(), kAssertions.end(),
                               [&](const AssertionInfo* info) { return info->name == name; });
  return it == kAssertions.end() ? nullptr : *it;
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kError:
      return "error";
    case Outcome::kInconclusive:
      return "inconclusive";
  }
  CHECK(false);
}

}  // namespace blkfair
