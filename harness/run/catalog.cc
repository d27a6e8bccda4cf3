#include "harness/run/catalog.h"

#include "engines/engine_table.h"
#include "kmod_setup/fixture_table.h"
#include "results/compare/comparison.h"
#include "results/fairness/assertion.h"

namespace blkfair {

namespace {

Catalog Gather() {
  Catalog catalog;
  for (const EngineInfo* engine : AllEngines()) {
    PartInfo part;
    part.name = engine->name;
    part.help = engine->help;
    part.params = engine->params;
    part.synchronous = engine->synchronous;
    part.synchronous_buffered = engine->synchronous_buffered;
    part.direct_only = engine->direct_only;
    part.trims_async = engine->trims_async;
    part.trims_by_ioctl = engine->trims_by_ioctl;
    part.check = engine->check;
    catalog.engines.push_back(part);
  }
  for (const FixtureInfo* fixture : AllFixtures()) {
    PartInfo part;
    part.name = fixture->name;
    part.help = fixture->help;
    part.params = fixture->params;
    part.queue_count = fixture->queue_count;
    part.queue_key = fixture->queue_key;
    part.check = fixture->check;
    catalog.fixtures.push_back(part);
  }
  for (const AssertionInfo* assertion : AllAssertions()) {
    PartInfo part;
    part.name = assertion->name;
    part.help = assertion->help;
    part.params = assertion->params;
    part.check = assertion->check;
    catalog.assertions.push_back(part);
  }
  catalog.assertion_problems = AssertionProblems;
  catalog.comparison = CompareParams();
  return catalog;
}

}  // namespace

const Catalog& TheCatalog() {
  static const Catalog catalog = Gather();
  return catalog;
}

}  // namespace blkfair
