// NVMe as sysfs shows it: controllers and their namespaces, found by serial, name and nsid, never
// by the order of disk names (namespaces are scanned asynchronously). Stateless; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/kernel_fs.h"
#include "base/result.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/kernel_objects.h"

namespace blkfair {

struct NvmeController {
  std::string name;  // "nvme0"
  std::string serial;
  std::string model;
  std::string firmware;
  std::string nqn;        // of its subsystem
  std::string transport;  // "pcie", "loop"
  std::string state;      // "live" when it can be used
  std::string Attr(std::string_view attribute) const { return dir + "/" + std::string(attribute); }
  std::string dir;  // /sys/class/nvme/nvme0
};

// A namespace as one controller reaches it. With native multipath the node belongs to a head that
// is based on bios; the tags are those of the path, which has no node
// (drivers/nvme/host/multipath.c, seen on 6.12 and 7.3).
struct NvmeNamespace {
  uint32_t nsid = 0;
  std::string disk;  // has the tags: "nvme0n1", or the path "nvme0c0n1"
  std::string node;  // in /dev: "nvme0n1"
};

// In the order of their names; none where the kernel has no NVMe.
std::vector<NvmeController> ListNvmeControllers(const KernelFs& fs);
std::optional<NvmeController> FindNvmeBySerial(const KernelFs& fs, std::string_view serial);
std::vector<NvmeController> FindNvmeByNqn(const KernelFs& fs, std::string_view nqn);

// By nsid.
std::vector<NvmeNamespace> ListNvmeNamespaces(const KernelFs& fs, const NvmeController& controller);
std::optional<NvmeNamespace> FindNvmeNamespace(const KernelFs& fs, const NvmeController& controller,
                                               uint32_t nsid);

// Brings in nvme_core, without multipath where it is a module that is not there yet: heads hide the
// path that has the tags.
Result<void> LoadNvmeCore(const FixtureContext& context, KernelObjects* objects);
inline constexpr const char* kNvmeNoMultipath = "nvme_core.multipath=N";  // the same, at boot

// What the namespaces of a controller are to be, as queues of a fixture.
struct NvmeQueueSpec {
  std::string fixture;
  NvmeController controller;
  std::string scheduler;
  int64_t block_bytes = 0;  // 0: as it is
  int64_t size_bytes = 0;   // 0: as it is
};

// Waits for namespace `nsid` and its node, sets the scheduler, reads the sizes back, and describes
// it as queue `index`.
Result<Queue> SetUpNvmeQueue(const FixtureContext& context, const NvmeQueueSpec& spec,
                             uint32_t index, uint32_t nsid, KernelObjects* objects);

// The controller, for a record.
void AddControllerFacts(const KernelFs& fs, const NvmeController& controller, FixtureFacts* facts);

}  // namespace blkfair
