// Fixture: something that makes request queues, or sets a kernel knob, and puts everything back.
// Owned by the orchestrator, used from its thread. SetUp leaves nothing behind when it fails.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/kernel_fs.h"
#include "base/params.h"
#include "base/queue.h"
#include "base/result.h"

namespace blkfair {

class Journal;        // kmod_setup/journal.h
class ModuleLoader;   // kmod_setup/module.h

// What every fixture may use. Outlives the fixture.
struct FixtureContext {
  KernelFs* fs = nullptr;
  ModuleLoader* modules = nullptr;
  Journal* journal = nullptr;
  // Waits `ns` of the run's own time; returns false when the user interrupted.
  std::function<bool(int64_t ns)> sleep;
};

// The tag set that the queues of a fixture draw from, as read back from the kernel.
struct TagSetFacts {
  bool shared = false;              // one set for all queues of the fixture
  uint32_t nr_tags = 0;             // of one hctx (or of the host-wide set)
  uint32_t nr_reserved_tags = 0;
  uint32_t nr_hw_queues = 0;
  bool operator==(const TagSetFacts&) const = default;
};

// The effective settings of a fixture: read back, never assumed.
struct FixtureFacts {
  TagSetFacts tags;
  // ("pair:0 scheduler", "none"), ("module null_blk hw_queue_depth", "64"), in a fixed order.
  std::vector<std::pair<std::string, std::string>> settings;
};

class Fixture {
 public:
  virtual ~Fixture() = default;

  // Whether this kernel can do it; kUnmet naming the missing piece otherwise. Changes nothing.
  virtual Result<void> Require() = 0;
  // Makes the queues, waits until they can be opened, reads everything back. A value that was not
  // taken is a kKernel error that names both.
  virtual Result<void> SetUp() = 0;
  // Undoes SetUp, in strict reverse, going on past failures; the error lists all of them.
  virtual Result<void> TearDown() = 0;

  virtual const std::vector<Queue>& queues() const = 0;
  virtual const FixtureFacts& facts() const = 0;
};

// A row of the fixture table (kmod_setup/fixture_table.h).
struct FixtureInfo {
  std::string_view name;
  std::string_view help;
  std::span<const ParamSpec> params;
  // Modules that a guest image must carry for these values, by module name.
  std::vector<std::string> (*modules)(const ParamValues&);
  // Kernel command line words for a kernel that has the driver built in ("null_blk.shared_tags=1").
  std::vector<std::string> (*boot_parameters)(const ParamValues&);
  uint32_t (*queue_count)(const ParamValues&);
  std::optional<std::string> (*check)(const ParamValues&);  // see PartInfo::check
  std::unique_ptr<Fixture> (*create)(std::string name, const ParamValues&, const FixtureContext&);
  bool needs_kernel;  // false: the sim fixture
};

}  // namespace blkfair
