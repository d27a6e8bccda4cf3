#include "kmod_setup/fixture_table.h"

#include <array>

namespace blkfair {

extern const FixtureInfo kDeviceFixtureInfo;
extern const FixtureInfo kNullBlkFixtureInfo;
extern const FixtureInfo kNvmeFixtureInfo;
extern const FixtureInfo kNvmeLoopFixtureInfo;
extern const FixtureInfo kNvmeQemuFixtureInfo;
extern const FixtureInfo kSimFixtureInfo;

namespace {
constexpr std::array kFixtures = {
    &kDeviceFixtureInfo,   &kNullBlkFixtureInfo,  &kNvmeFixtureInfo,
    &kNvmeLoopFixtureInfo, &kNvmeQemuFixtureInfo, &kSimFixtureInfo,
};
}  // namespace

std::span<const FixtureInfo* const> AllFixtures() { return kFixtures; }

const FixtureInfo* FindFixture(std::string_view name) {
  for (const FixtureInfo* const info : kFixtures) {
    if (info->name == name) return info;
  }
  return nullptr;
}

}  // namespace blkfair
