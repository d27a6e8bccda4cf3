// What an NVMe controller and a namespace say of themselves, in answer to Identify commands. A
// narrow interface, so that fixtures can be tested without a device, and so that libnvme (which
// brings OpenSSL and D-Bus) stays out of the guest's image. Used from the orchestrator's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace blkfair {

struct NvmeLbaFormat {
  uint32_t data_bytes = 0;
  uint32_t metadata_bytes = 0;
  bool in_use = false;
};

struct NvmeIdentity {
  std::string serial;
  std::string model;
  std::string firmware;
  uint64_t max_transfer_bytes = 0;  // MDTS, for pages of 4 KiB; 0: no limit
  uint32_t namespaces_max = 0;      // NN
  uint64_t size_blocks = 0;         // of the namespace, in the format in use
  std::vector<NvmeLbaFormat> formats;
};

class NvmeIdentifier {
 public:
  virtual ~NvmeIdentifier() = default;
  // `node` is that of the namespace, "/dev/nvme0n1". Changes nothing.
  virtual Result<NvmeIdentity> Identify(const std::string& node, uint32_t nsid) = 0;
};

// Through libnvme. Needs CAP_SYS_ADMIN.
std::unique_ptr<NvmeIdentifier> MakeLibnvmeIdentifier();

}  // namespace blkfair
