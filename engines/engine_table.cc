#include "engines/engine_table.h"

// Every engine is one token here and a file <name>_engine.cc that defines k<Name>EngineInfo.
#define BLKFAIR_ENGINES(X) X(IoUring) X(IoUringCmd) X(Libaio) X(Psync) X(Pvsync2) X(Null) X(Sim)

namespace blkfair {

#define BLKFAIR_DECLARE(Name) extern const EngineInfo k##Name##EngineInfo;
BLKFAIR_ENGINES(BLKFAIR_DECLARE)
#undef BLKFAIR_DECLARE

std::span<const EngineInfo* const> AllEngines() {
#define BLKFAIR_ROW(Name) &k##Name##EngineInfo,
  static constexpr const EngineInfo* kEngines[] = {BLKFAIR_ENGINES(BLKFAIR_ROW)};
#undef BLKFAIR_ROW
  return kEngines;
}

const EngineInfo* FindEngine(std::string_view name) {
  for (const EngineInfo* engine : AllEngines()) {
    if (engine->name == name) return engine;
  }
  return nullptr;
}

}  // namespace blkfair
