// TagWaits: how often a request found no tag and its thread went to sleep for one, by the kernel's
// tracepoint block_rq_tag_wait (include/trace/events/block.h, since 7.2), counted per disk by a
// histogram of the tracing itself, in a trace instance of our own. Made and released by the
// orchestrator's thread, read by the sampler's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kmod_setup/kernel_objects.h"

namespace blkfair {

class TagWaits {
 public:
  // Counts from here on; nothing where the kernel has no such tracepoint, or does not let us trace.
  // `context` outlives the object.
  void Start(const FixtureContext& context);

  bool counting() const { return instance_ != nullptr; }
  // So far, by the kernel's device number. Empty where nothing is counted.
  std::map<uint64_t, uint64_t> Read() const;
  // Ends counting and removes the instance.
  Result<void> Release();

 private:
  KernelObjects objects_;
  ConfigfsDir* instance_ = nullptr;
};

// The hits of a tracing histogram over `dev`.
std::map<uint64_t, uint64_t> ParseDevHistogram(std::string_view text);

// dev_t inside the kernel (20 bits of minor) from the "MAJOR:MINOR" of sysfs.
std::optional<uint64_t> ParseDevNumber(std::string_view text);

}  // namespace blkfair
