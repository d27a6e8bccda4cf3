// Gathers the parameter tables of engines, fixtures and assertions into the one catalog that the
// scenario reader checks against.
#pragma once

#include "scenarios/language/catalog.h"

namespace blkfair {

const Catalog& TheCatalog();

}  // namespace blkfair
