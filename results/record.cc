#include "results/record.h"

#include <algorithm>

#include "base/check.h"

namespace blkfair {

namespace {

template <typename T>
const T* FindByName(const std::vector<T>& items, std::string_view name, std::string T::*member) {
  const auto it =
      std::find_if(items.begin(), items.end(), [&](const T& item) { return item.*member == name; });
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

std::string_view RunOutcomeName(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kDied:
      return "died";
    case RunOutcome::kComplete:
      return "complete";
    case RunOutcome::kInterrupted:
      return "interrupted";
    case RunOutcome::kUnmet:
      return "unmet";
    case RunOutcome::kError:
      return "error";
  }
  CHECK(false);
}

const QueueRecord* PhaseRecord::FindQueue(std::string_view queue) const {
  return FindByName(queues, queue, &QueueRecord::queue);
}

const TagSetPhaseRecord* PhaseRecord::FindTagSet(std::string_view fixture) const {
  return FindByName(tag_sets, fixture, &TagSetPhaseRecord::fixture);
}

const PhaseRecord* Record::FindPhase(const std::string& name) const {
  return FindByName(phases, name, &PhaseRecord::name);
}

const FixtureRecord* Record::FindFixture(std::string_view name) const {
  return FindByName(fixtures, name, &FixtureRecord::name);
}

}  // namespace blkfair
