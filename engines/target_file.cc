#include "engines/target_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace blkfair {

Result<UniqueFd> OpenTarget(const EngineOpenArgs& args) {
  const std::string& path = args.queue->path;
  const int flags = (args.writes ? O_RDWR : O_RDONLY) | (args.direct ? O_DIRECT : 0);
  Result<UniqueFd> fd = OpenFile(path, flags);
  // open(2): a file system or driver without direct I/O answers EINVAL.
  if (!fd && args.direct && fd.error().os_errno == EINVAL) {
    return Fail({ErrorKind::kKernel, EINVAL,
                 "open " + path + " with O_DIRECT: it has no direct I/O (set direct = false)"});
  }
  return fd;
}

int SyncTarget(int fd) {
  if (::fdatasync(fd) == 0) return 0;
  // fdatasync(2): a special file that has nothing to be synchronised.
  return errno == EINVAL ? 0 : -errno;
}

}  // namespace blkfair
