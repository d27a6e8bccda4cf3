// The libnvme side of NvmeIdentifier, a library of its own. The identify calls are the same in
// libnvme 1.3 and 1.16.
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libnvme.h>

#include <iterator>
#include <string_view>

#include "base/fd.h"
#include "kmod_setup/nvme_identify.h"

namespace blkfair {

namespace {

constexpr uint64_t kPageBytes = 4096;  // CAP.MPSMIN of every controller that Linux drives on x86

// Fields are padded with blanks, and not ended.
template <size_t kSize>
std::string Text(const char (&field)[kSize]) {
  const std::string_view text(field, kSize);
  return std::string(text.substr(0, text.find_last_not_of(std::string_view(" \0", 2)) + 1));
}

// A status above 0 is the controller's answer, below 0 the kernel's.
Result<void> Check(int status, const std::string& what) {
  if (status == 0) return {};
  if (status < 0) return FailErrno(errno, what);
  return Fail(ErrorKind::kKernel,
              fmt::format("{}: {}", what, nvme_status_to_string(status, /*fabrics=*/false)));
}

class LibnvmeIdentifier : public NvmeIdentifier {
 public:
  Result<NvmeIdentity> Identify(const std::string& node, uint32_t nsid) override {
    ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(node, O_RDONLY));
    nvme_id_ctrl controller{};
    RETURN_IF_ERROR(
        Check(nvme_identify_ctrl(fd.get(), &controller), "identify the controller of " + node));
    nvme_id_ns ns{};
    RETURN_IF_ERROR(Check(nvme_identify_ns(fd.get(), nsid, &ns),
                          fmt::format("identify namespace {} at {}", nsid, node)));
    NvmeIdentity identity;
    identity.serial = Text(controller.sn);
    identity.model = Text(controller.mn);
    identity.firmware = Text(controller.fr);
    identity.max_transfer_bytes = controller.mdts == 0 ? 0 : kPageBytes << controller.mdts;
    identity.namespaces_max = le32toh(controller.nn);
    identity.size_blocks = le64toh(ns.nsze);
    // FLBAS: bits 0 to 3 are the index of the format, bits 5 and 6 its upper part.
    const unsigned in_use = (ns.flbas & 0xfU) | (ns.flbas >> 1U & 0x30U);
    for (unsigned i = 0; i <= ns.nlbaf && i < std::size(ns.lbaf); i++) {
      identity.formats.push_back({.data_bytes = 1U << ns.lbaf[i].ds,
                                  .metadata_bytes = le16toh(ns.lbaf[i].ms),
                                  .in_use = i == in_use});
    }
    return identity;
  }
};

}  // namespace

std::unique_ptr<NvmeIdentifier> MakeLibnvmeIdentifier() {
  return std::make_unique<LibnvmeIdentifier>();
}

}  // namespace blkfair
