#include "engines/polled_queue.h"

#include <string>

namespace blkfair {

Result<void> RequirePolledQueue(const KernelFs& fs, const Queue& queue) {
  if (queue.disk.empty()) {
    return Fail(
        ErrorKind::kUnmet,
        "hipri needs a block device with polled hardware queues, which " + queue.path + " is not");
  }
  const std::string attribute = fs.roots().sys + "/block/" + queue.disk + "/queue/io_poll";
  ASSIGN_OR_RETURN(const int64_t polled, fs.ReadInt(attribute));
  if (polled != 0) return {};
  return Fail(ErrorKind::kUnmet,
              "hipri needs polled hardware queues, and " + queue.disk + " has none (" + attribute +
                  " is 0): null_blk gets them by poll_queues = 1 in its fixture, nvme by "
                  "nvme.poll_queues=1 when it is loaded or the kernel boots");
}

}  // namespace blkfair
