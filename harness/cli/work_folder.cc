#include "harness/cli/work_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "kmod_setup/journal.h"

namespace blkfair {

namespace {
constexpr int kTries = 100;
}

Result<WorkFolder> WorkFolder::Create(Journal* journal) {
  std::error_code error;
  const std::string parent = std::filesystem::temp_directory_path(error).string();
  if (error) {
    const char* asked = std::getenv("TMPDIR");
    return Fail(ErrorKind::kKernel,
                fmt::format("the folder for temporary files, {}, cannot be used: {}; set TMPDIR to "
                            "one that can",
                            asked != nullptr ? asked : "/tmp", error.message()));
  }
  // mkdtemp(3) would make the folder before its name can be journaled.
  for (int i = 0; i < kTries; i++) {
    const std::string path = fmt::format("{}/{}{}-{}", parent, kFolderPrefix, ::getpid(), i);
    if (::access(path.c_str(), F_OK) == 0) continue;
    ASSIGN_OR_RETURN(const uint64_t id, journal->Begin({OperationKind::kFolder, path, "", ""}));
    if (::mkdir(path.c_str(), 0700) == 0) return WorkFolder(journal, path, id);
    const int os_errno = errno;
    RETURN_IF_ERROR(journal->MarkUndone(id));
    if (os_errno != EEXIST) return FailErrno(os_errno, fmt::format("make folder {}", path));
  }
  return Fail(ErrorKind::kKernel,
              fmt::format("make a work folder in {}: all names are taken", parent));
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : journal_(other.journal_), path_(std::move(other.path_)), id_(other.id_), keep_(other.keep_) {
  other.path_.clear();
}

WorkFolder::~WorkFolder() {
  if (path_.empty()) return;
  if (!keep_) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) return;  // the journal still names it
  }
  (void)journal_->MarkUndone(id_);
}

}  // namespace blkfair
