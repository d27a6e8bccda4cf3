// The fixtures there are. Adding one: a file <name>_fixture.cc that defines k<Name>FixtureInfo, and
// a line here.
#pragma once

#include <span>
#include <string_view>

#include "kmod_setup/fixture.h"

namespace blkfair {

std::span<const FixtureInfo* const> AllFixtures();
const FixtureInfo* FindFixture(std::string_view name);  // null when there is none

}  // namespace blkfair
