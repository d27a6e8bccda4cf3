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

class Journal;         // kmod_setup/journal.h
class ModuleLoader;    // kmod_setup/module.h
class NvmeIdentifier;  // kmod_setup/nvme_identify.h

// What every fixture may use. Outlives the fixture.
struct FixtureContext {
  KernelFs* fs = nullptr;
  ModuleLoader* modules = nullptr;
  Journal* journal = nullptr;
  // Waits `ns` of the run's own time; returns false when the user interrupted.
  std::function<bool(int64_t ns)> sleep;
  // The devices, by serial number or path, whose data the command line allows to destroy.
  std::vector<std::string> destroy = {};
  NvmeIdentifier* nvme = nullptr;  // null where no NVMe device of others is reached: in a guest
};

// The tag set that the queues of a fixture draw from, as read back from the kernel.
struct TagSetFacts {
  bool shared = false;   // one set for all queues of the fixture
  uint32_t nr_tags = 0;  // of one hctx (or of the host-wide set)
  uint32_t nr_reserved_tags = 0;
  uint32_t nr_hw_queues = 0;
  // active_queues of the set when no queue of the fixture is busy: more than 0 where the kernel has
  // a queue of its own in the set. What settling waits for.
  uint32_t idle_users = 0;
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
  std::string_view queue_key;  // the parameter that queue_count goes by
  std::optional<std::string> (*check)(const ParamValues&);  // see PartInfo::check
  std::unique_ptr<Fixture> (*create)(std::string name, const ParamValues&, const FixtureContext&);
  bool needs_kernel;  // false: the sim fixture
  // Arguments of the QEMU whose guest the fixture `name` is to be set up in: the hardware that it
  // is about. Null: it needs none.
  std::vector<std::string> (*qemu_arguments)(const std::string& name, const ParamValues&) = nullptr;
  // Its devices are not blkfair's own: nothing is written to them without a double permission
  // (harness/run/permission.h). Its table has a key destroy_data.
  bool foreign = false;
  // Why virtual time does not repeat to the last bit with it, as a sentence; empty: it does.
  std::string_view time_note = {};
};

}  // namespace blkfair
