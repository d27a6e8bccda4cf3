#include "kmod_setup/kernel_objects.h"

#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <sstream>

namespace blkfair {

namespace {

constexpr int64_t kRetryPauseNs = 20'000'000;
constexpr int kRetries = 250;  // 5 s

bool SleepUninterrupted(int64_t ns) {
  timespec left = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace

Result<void> RetryWhileBusy(const std::function<Result<void>()>& act,
                            const std::function<bool(int64_t ns)>& pause) {
  for (int attempt = 0;; attempt++) {
    Result<void> result = act();
    if (result || attempt == kRetries) return result;
    const int why = result.error().os_errno;
    if (why != EBUSY && why != EAGAIN) return result;
    if (!(pause ? pause(kRetryPauseNs) : SleepUninterrupted(kRetryPauseNs))) {
      return Fail(ErrorKind::kInterrupted, result.error().message + " (interrupted)");
    }
  }
}

Result<void> JoinErrors(const std::vector<Error>& errors) {
  if (errors.empty()) return {};
  Error joined = errors.front();
  for (size_t i = 1; i < errors.size(); i++) joined.message += "; " + errors[i].message;
  return Fail(std::move(joined));
}

std::string ChosenValue(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open != std::string_view::npos && close != std::string_view::npos) {
    return std::string(text.substr(open + 1, close - open - 1));
  }
  const size_t last = text.find_last_not_of(" \t\n");
  return std::string(last == std::string_view::npos ? std::string_view()
                                                    : text.substr(0, last + 1));
}

bool IsMounted(const KernelFs& fs, const std::string& type, const std::string& path) {
  const Result<std::string> mounts = fs.Read(fs.roots().proc + "/self/mounts");
  if (!mounts) return false;
  std::istringstream lines(*mounts);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string source, target, kind;
    if (fields >> source >> target >> kind && target == path && kind == type) return true;
  }
  return false;
}

KernelObject::~KernelObject() {
  if (const Result<void> released = Release(); !released) {
    std::fprintf(stderr, "blkfair: %s\n", released.error().message.c_str());
  }
}

Result<void> KernelObject::Do(const std::function<Result<void>()>& act) {
  ASSIGN_OR_RETURN(journal_id_, context_.journal->Begin(operation_));
  if (Result<void> made = act(); !made) {
    std::vector<Error> errors = {std::move(made.error())};
    if (Result<void> marked = context_.journal->MarkUndone(journal_id_); !marked) {
      errors.push_back(std::move(marked.error()));
    }
    return JoinErrors(errors);
  }
  done_ = true;
  return {};
}

Result<void> KernelObject::Release() {
  if (!done_) return {};
  done_ = false;
  RETURN_IF_ERROR(UndoOperation(operation_, *context_.fs, *context_.modules));
  return context_.journal->MarkUndone(journal_id_);
}

Result<std::unique_ptr<ConfigfsDir>> ConfigfsDir::Create(const FixtureContext& context,
                                                         const std::string& path) {
  if (context.fs->Exists(path)) {
    return Fail(Error{ErrorKind::kKernel, EEXIST,
                      fmt::format("make directory {}: it exists; another run is using it, or was "
                                  "killed (blkfair clean removes what it left)",
                                  path)});
  }
  std::unique_ptr<ConfigfsDir> dir(new ConfigfsDir(
      context, {.kind = OperationKind::kMakeDir, .object = path, .before = {}, .after = {}}));
  RETURN_IF_ERROR(dir->Do([&] { return context.fs->MakeDir(path); }));
  return dir;
}

std::string ConfigfsDir::AttrPath(std::string_view attribute) const {
  return fmt::format("{}/{}", path(), attribute);
}

bool ConfigfsDir::HasAttr(std::string_view attribute) const {
  return context_.fs->Exists(AttrPath(attribute));
}

Result<void> ConfigfsDir::Set(std::string_view attribute, std::string_view value) {
  const std::string path = AttrPath(attribute);
  ASSIGN_OR_RETURN(const uint64_t id, context_.journal->Begin({.kind = OperationKind::kSet,
                                                               .object = path,
                                                               .before = {},
                                                               .after = std::string(value)}));
  const Result<void> written = context_.fs->Write(path, value);
  // There is nothing to undo by itself, whether it was written or not.
  RETURN_IF_ERROR(context_.journal->MarkUndone(id));
  return written;
}

Result<std::string> ConfigfsDir::Get(std::string_view attribute) const {
  return context_.fs->ReadLine(AttrPath(attribute));
}

Result<std::unique_ptr<ConfigfsLink>> ConfigfsLink::Create(const FixtureContext& context,
                                                           const std::string& target,
                                                           const std::string& path) {
  std::unique_ptr<ConfigfsLink> link(new ConfigfsLink(
      context, {.kind = OperationKind::kSymlink, .object = path, .before = {}, .after = target}));
  RETURN_IF_ERROR(link->Do([&] { return context.fs->MakeSymlink(target, path); }));
  return link;
}

Result<std::unique_ptr<NvmeConnection>> NvmeConnection::Create(const FixtureContext& context,
                                                               const std::string& nqn,
                                                               const std::string& options) {
  std::unique_ptr<NvmeConnection> connection(new NvmeConnection(
      context, {.kind = OperationKind::kConnect, .object = nqn, .before = {}, .after = options}));
  RETURN_IF_ERROR(connection->Do([&] {
    return context.fs->Write(context.fs->roots().dev + "/nvme-fabrics",
                             fmt::format("nqn={},{}", nqn, options));
  }));
  return connection;
}

Result<std::unique_ptr<SavedAttr>> SavedAttr::Create(const FixtureContext& context,
                                                     const std::string& path,
                                                     const std::string& value) {
  KernelFs& fs = *context.fs;
  ASSIGN_OR_RETURN(const std::string before, fs.Read(path));
  std::unique_ptr<SavedAttr> attr(new SavedAttr(context, {.kind = OperationKind::kWrite,
                                                          .object = path,
                                                          .before = ChosenValue(before),
                                                          .after = value}));
  if (attr->operation_.before == value) return attr;
  RETURN_IF_ERROR(attr->Do(
      [&] { return RetryWhileBusy([&] { return fs.Write(path, value); }, context.sleep); }));
  ASSIGN_OR_RETURN(const std::string after, fs.Read(path));
  if (ChosenValue(after) != value) {
    return Fail(ErrorKind::kKernel,
                fmt::format("{} is {} after writing {}: the kernel did not take it", path,
                            ChosenValue(after), value));
  }
  return attr;
}

Result<std::unique_ptr<Mount>> Mount::Create(const FixtureContext& context, const std::string& type,
                                             const std::string& path) {
  if (IsMounted(*context.fs, type, path)) return std::unique_ptr<Mount>();
  std::unique_ptr<Mount> mount(new Mount(
      context, {.kind = OperationKind::kMount, .object = path, .before = {}, .after = type}));
  RETURN_IF_ERROR(mount->Do([&] { return context.fs->Mount(type, path); }));
  return mount;
}

Result<std::unique_ptr<LoadedModule>> LoadedModule::Create(const FixtureContext& context,
                                                           const std::string& name,
                                                           const ModuleParameters& parameters) {
  std::unique_ptr<LoadedModule> module(
      new LoadedModule(context, {.kind = OperationKind::kLoadModule,
                                 .object = name,
                                 .before = {},
                                 .after = FormatModuleParameters(parameters)}));
  RETURN_IF_ERROR(module->Do([&] { return context.modules->Load(name, parameters); }));
  return module;
}

Result<std::unique_ptr<UnloadedModule>> UnloadedModule::Create(const FixtureContext& context,
                                                               const std::string& name) {
  ASSIGN_OR_RETURN(const ModuleParameters parameters, ReadModuleParameters(*context.fs, name));
  std::unique_ptr<UnloadedModule> module(
      new UnloadedModule(context, {.kind = OperationKind::kUnloadModule,
                                   .object = name,
                                   .before = FormatModuleParameters(parameters),
                                   .after = {}}));
  RETURN_IF_ERROR(module->Do([&] {
    return RetryWhileBusy([&] { return context.modules->Unload(name); }, context.sleep);
  }));
  return module;
}

KernelObjects::~KernelObjects() {
  if (const Result<void> released = Release(); !released) {
    std::fprintf(stderr, "blkfair: %s\n", released.error().message.c_str());
  }
}

Result<void> KernelObjects::LoadModule(const FixtureContext& context, const std::string& name,
                                       const ModuleParameters& parameters) {
  if (GetModuleState(*context.fs, name) != ModuleState::kAbsent) return {};
  ASSIGN_OR_RETURN(const std::vector<std::string> dependencies,
                   context.modules->Dependencies(name));
  for (const std::string& dependency : dependencies) {
    if (GetModuleState(*context.fs, dependency) != ModuleState::kAbsent) continue;
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedModule> loaded,
                     LoadedModule::Create(context, dependency, {}));
    Add(std::move(loaded));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LoadedModule> loaded,
                   LoadedModule::Create(context, name, parameters));
  Add(std::move(loaded));
  return {};
}

Result<void> KernelObjects::Release() {
  std::vector<Error> errors;
  while (!objects_.empty()) {
    if (Result<void> released = objects_.back()->Release(); !released) {
      errors.push_back(std::move(released.error()));
    }
    objects_.pop_back();
  }
  return JoinErrors(errors);
}

}  // namespace blkfair
