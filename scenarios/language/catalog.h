// The catalog: the parameter tables of every part, gathered by the harness and handed to the
// scenario reader, which therefore checks every key without knowing any part.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace blkfair {

struct AssertSpec;
struct Scenario;

struct PartInfo {
  std::string_view name;
  std::string_view help;
  std::span<const ParamSpec> params;
  // Engines: one I/O at a time, so iodepth must be 1.
  bool synchronous = false;
  // Engines: the same, while direct is false.
  bool synchronous_buffered = false;
  // Engines: I/O always passes by the page cache, so direct must be true.
  bool direct_only = false;
  // Engines: the ways of trimming that there are beside it.
  bool trims_by_ioctl = true;
  bool trims_async = false;
  // Fixtures: how many queues these values make, of which queue_key alone is looked at. Null for
  // engines and assertions.
  uint32_t (*queue_count)(const ParamValues&) = nullptr;
  std::string_view queue_key = {};
  // An impossible combination within one table, as one sentence; empty when fine. May be null.
  std::optional<std::string> (*check)(const ParamValues&) = nullptr;
};

struct Catalog {
  std::vector<PartInfo> engines;
  std::vector<PartInfo> fixtures;
  std::vector<PartInfo> assertions;
  std::span<const ParamSpec> comparison = {};  // keys of [[compare]]
  // What is wrong with an assertion in its scenario, one sentence each. Asked once everything else
  // is in order. May be null.
  std::vector<std::string> (*assertion_problems)(const Scenario&, const AssertSpec&) = nullptr;
};

// Null where there is none of this name.
const PartInfo* FindPart(std::span<const PartInfo> parts, std::string_view name);
const ParamSpec* FindSpec(std::span<const ParamSpec> specs, std::string_view name);

// What is wrong with the tables themselves, one sentence each: defaults that do not fit their own
// spec, keys that stand twice or hide one of the language's, names that are no names. For tests.
std::vector<std::string> CatalogFaults(const Catalog& catalog);

}  // namespace blkfair
