// Checks across keys and tables: names that are referred to, and combinations that are impossible.
// Internal to scenarios/language.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/catalog.h"
#include "scenarios/language/document.h"
#include "scenarios/language/model.h"
#include "scenarios/language/problems.h"

namespace blkfair {

// What may be referred to, valid or not: a fault in a table is reported once, there.
struct Referents {
  struct Fixture {
    std::string name;
    std::string kind;
    std::optional<uint32_t> queues;  // unknown when the fixture's table is wrong
  };
  std::vector<Fixture> fixtures;
  std::vector<std::string> jobs;
  std::vector<std::string> phases;

  const Fixture* FindFixture(std::string_view name) const;
};

// "pair:0"; empty when the text has another form.
std::optional<QueueRef> ParseQueueName(std::string_view text);

// A name that is no name, or that one of `taken` has already; appends it to `taken`.
void CheckName(const Node& table, std::string_view what, std::vector<std::string>* taken,
               Problems* problems);

// Every text of `table` whose spec refers to something names something that exists.
void CheckReferences(const Node& table, std::span<const ParamSpec> specs,
                     const Referents& referents, Problems* problems);

// A list in which the same text stands twice.
void CheckNoRepeats(const Node& table, std::string_view key, Problems* problems);

// What one job's values, engine and queue cannot be together. `fixture` is its queue's.
void CheckJob(const Node& table, const JobSpec& job, const PartInfo& engine,
              const Referents::Fixture& fixture, Problems* problems);

// The place of `key`'s value, or of the table that lacks it.
Place PlaceOfKey(const Node& table, std::string_view key);

// Where to point for a problem with those of the keys `specs` that `message` names: at what the
// command line set, which came last, or else at the first of them; at the table when it has none.
Place PlaceOfProblem(const Node& table, std::span<const ParamSpec> specs, std::string_view message);

}  // namespace blkfair
