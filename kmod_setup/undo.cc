// Undoing one journaled operation: the same code for a fixture that ends in order and for
// `blkfair clean` after a crash.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "kmod_setup/journal.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/nvme.h"

namespace blkfair {

namespace {

// Whether an object made by blkfair is this path, or above it.
bool CarriesPrefix(const std::string& path) {
  return path.find(fmt::format("/{}", kObjectPrefix)) != std::string::npos ||
         path.find(fmt::format("/nvmet/ports/{}", kNvmetPortPrefix)) != std::string::npos;
}

Result<void> RefuseForeign(const std::string& path) {
  return Fail(ErrorKind::kKernel,
              fmt::format("remove {}: refused, its name is not one that blkfair gives", path));
}

Result<void> UndoWrite(const Operation& operation, KernelFs& fs) {
  const std::string& path = operation.object;
  if (!fs.Exists(path)) return {};  // the object went away, and its attributes with it
  ASSIGN_OR_RETURN(const std::string now, fs.Read(path));
  if (ChosenValue(now) == operation.before) return {};
  RETURN_IF_ERROR(RetryWhileBusy([&] { return fs.Write(path, operation.before); }));
  ASSIGN_OR_RETURN(const std::string after, fs.Read(path));
  if (ChosenValue(after) == operation.before) return {};
  return Fail(ErrorKind::kKernel, fmt::format("restore {} to {}: it is still {}", path,
                                              operation.before, ChosenValue(after)));
}

Result<void> UndoMakeDir(const Operation& operation, KernelFs& fs) {
  if (!fs.Exists(operation.object)) return {};
  if (!CarriesPrefix(operation.object)) return RefuseForeign(operation.object);
  return RetryWhileBusy([&] { return fs.RemoveDir(operation.object); });
}

Result<void> UndoSymlink(const Operation& operation, KernelFs& fs) {
  if (!fs.Exists(operation.object)) return {};
  if (!CarriesPrefix(operation.object)) return RefuseForeign(operation.object);
  return fs.RemoveFile(operation.object);
}

Result<void> UndoMount(const Operation& operation, KernelFs& fs) {
  if (!IsMounted(fs, operation.after, operation.object)) return {};
  return RetryWhileBusy([&] { return fs.Unmount(operation.object); });
}

Result<void> UndoLoadModule(const Operation& operation, KernelFs& fs, ModuleLoader& modules) {
  if (GetModuleState(fs, operation.object) != ModuleState::kLoaded) return {};
  return RetryWhileBusy([&] { return modules.Unload(operation.object); });
}

Result<void> UndoUnloadModule(const Operation& operation, KernelFs& fs, ModuleLoader& modules) {
  if (GetModuleState(fs, operation.object) != ModuleState::kAbsent) return {};
  return modules.Load(operation.object, ParseModuleParameters(operation.before));
}

Result<void> UndoSpawn(const Operation& operation, KernelFs& fs) {
  pid_t pid = 0;
  const std::string& text = operation.object;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || pid <= 1) {
    return Fail(ErrorKind::kKernel, fmt::format("end process {}: it is no process id", text));
  }
  const auto is_ours = [&] {
    const Result<std::string> start = ProcessStartTime(fs, pid);
    return start && *start == operation.before;
  };
  // The descriptor pins the process: checked after it is open, the pid cannot be another's.
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    if (errno == ESRCH || !is_ours()) return {};
    return FailErrno(errno, fmt::format("open process {}", pid));
  }
  if (!is_ours()) return {};
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0) return {};
  return errno == ESRCH ? Result<void>{} : FailErrno(errno, fmt::format("end process {}", pid));
}

Result<void> UndoConnect(const Operation& operation, KernelFs& fs) {
  if (!operation.object.starts_with(kObjectPrefix)) {
    return Fail(ErrorKind::kKernel, fmt::format("disconnect {}: refused, its name is not one that "
                                                "blkfair gives",
                                                operation.object));
  }
  for (const NvmeController& controller : FindNvmeByNqn(fs, operation.object)) {
    const Result<void> written = fs.Write(controller.Attr("delete_controller"), "1");
    if (!written && fs.Exists(controller.dir)) return written;  // else it went by itself
  }
  return {};
}

Result<void> UndoFolder(const Operation& operation) {
  const std::filesystem::path path(operation.object);
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return {};
  if (path.filename().string().rfind(kFolderPrefix, 0) != 0) return RefuseForeign(operation.object);
  std::filesystem::remove_all(path, error);
  if (error) return FailErrno(error.value(), fmt::format("remove folder {}", operation.object));
  return {};
}

}  // namespace

Result<void> UndoOperation(const Operation& operation, KernelFs& fs, ModuleLoader& modules) {
  switch (operation.kind) {
    case OperationKind::kWrite:
      return UndoWrite(operation, fs);
    case OperationKind::kSet:
      return {};
    case OperationKind::kMakeDir:
      return UndoMakeDir(operation, fs);
    case OperationKind::kSymlink:
      return UndoSymlink(operation, fs);
    case OperationKind::kMount:
      return UndoMount(operation, fs);
    case OperationKind::kLoadModule:
      return UndoLoadModule(operation, fs, modules);
    case OperationKind::kUnloadModule:
      return UndoUnloadModule(operation, fs, modules);
    case OperationKind::kSpawn:
      return UndoSpawn(operation, fs);
    case OperationKind::kConnect:
      return UndoConnect(operation, fs);
    case OperationKind::kFolder:
      return UndoFolder(operation);
  }
  return {};
}

}  // namespace blkfair
