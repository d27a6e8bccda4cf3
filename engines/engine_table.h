// The engines there are. Adding one: a file <name>_engine.cc that defines k<Name>EngineInfo, and a
// line here.
#pragma once

#include <span>
#include <string_view>

#include "engines/engine.h"

namespace blkfair {

std::span<const EngineInfo* const> AllEngines();
const EngineInfo* FindEngine(std::string_view name);  // null when there is none

}  // namespace blkfair
