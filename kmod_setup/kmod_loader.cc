// The libkmod side of ModuleLoader.
#include <errno.h>
#include <fmt/format.h>
#include <libkmod.h>

#include "kmod_setup/module.h"

namespace blkfair {

namespace {

struct ModuleCloser {
  void operator()(kmod_module* module) const { kmod_module_unref(module); }
};
using ModulePtr = std::unique_ptr<kmod_module, ModuleCloser>;

struct ListCloser {
  void operator()(kmod_list* list) const { kmod_module_unref_list(list); }
};
using ListPtr = std::unique_ptr<kmod_list, ListCloser>;

// The file of a module by its name or alias; null when there is none.
ModulePtr Find(kmod_ctx* context, const std::string& name) {
  if (context == nullptr) return nullptr;
  kmod_list* raw = nullptr;
  if (kmod_module_new_from_lookup(context, name.c_str(), &raw) < 0) return nullptr;
  const ListPtr list(raw);
  if (list == nullptr) return nullptr;
  ModulePtr module(kmod_module_get_module(list.get()));
  if (kmod_module_get_path(module.get()) == nullptr) return nullptr;  // built in
  return module;
}

}  // namespace

void KmodModuleLoader::ContextCloser::operator()(kmod_ctx* context) const { kmod_unref(context); }

KmodModuleLoader::KmodModuleLoader(const std::string& modules_dir)
    : modules_dir_(modules_dir),
      context_(kmod_new(modules_dir.empty() ? nullptr : modules_dir.c_str(), nullptr)) {
  if (context_ == nullptr) return;
  kmod_set_log_priority(context_.get(), 0);  // what fails is in our own errors
  if (modules_dir_.empty()) modules_dir_ = kmod_get_dirname(context_.get());
}

KmodModuleLoader::~KmodModuleLoader() = default;

bool KmodModuleLoader::Available(const std::string& name) {
  return Find(context_.get(), name) != nullptr;
}

Result<std::vector<std::string>> KmodModuleLoader::Dependencies(const std::string& name) {
  const ModulePtr module = Find(context_.get(), name);
  std::vector<std::string> names;
  if (module == nullptr) return names;
  const ListPtr list(kmod_module_get_dependencies(module.get()));
  kmod_list* item = nullptr;
  kmod_list_foreach(item, list.get()) {
    const ModulePtr dependency(kmod_module_get_module(item));
    names.emplace_back(kmod_module_get_name(dependency.get()));
  }
  return names;
}

Result<void> KmodModuleLoader::Load(const std::string& name, const ModuleParameters& parameters) {
  const ModulePtr module = Find(context_.get(), name);
  if (module == nullptr) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("load module {}: there is no such module in {}", name, modules_dir_));
  }
  const std::string options = FormatModuleParameters(parameters);
  const int status = kmod_module_insert_module(module.get(), 0, options.c_str());
  if (status < 0) return FailErrno(-status, fmt::format("load module {} {}", name, options));
  return {};
}

Result<void> KmodModuleLoader::Unload(const std::string& name) {
  kmod_module* raw = nullptr;
  if (context_ == nullptr || kmod_module_new_from_name(context_.get(), name.c_str(), &raw) < 0) {
    return Fail(ErrorKind::kKernel, fmt::format("unload module {}: libkmod refused", name));
  }
  const ModulePtr module(raw);
  const int status = kmod_module_remove_module(module.get(), KMOD_REMOVE_NOLOG);
  if (status < 0) return FailErrno(-status, fmt::format("unload module {}", name));
  return {};
}

}  // namespace blkfair
