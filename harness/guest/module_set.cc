#include "harness/guest/module_set.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <libkmod.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "base/fd.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace fs = std::filesystem;
namespace {

struct KmodDeleter {
  void operator()(kmod_ctx* context) const { kmod_unref(context); }
  void operator()(kmod_module* module) const { kmod_module_unref(module); }
  void operator()(kmod_list* list) const { kmod_module_unref_list(list); }
};
using KmodContext = std::unique_ptr<kmod_ctx, KmodDeleter>;
using KmodModule = std::unique_ptr<kmod_module, KmodDeleter>;
using KmodList = std::unique_ptr<kmod_list, KmodDeleter>;

// Walks dependencies, each module once.
class Collector {
 public:
  explicit Collector(kmod_ctx* context) : context_(context) {}

  // False when there is no such module.
  Result<bool> Add(const std::string& name) {
    kmod_list* raw = nullptr;
    const int rc = kmod_module_new_from_lookup(context_, name.c_str(), &raw);
    const KmodList found(raw);
    if (rc < 0) return FailErrno(-rc, fmt::format("look up the module {}", name));
    RETURN_IF_ERROR(AddList(found.get()));
    return found != nullptr;
  }

  // Sorted by path.
  const std::map<std::string, std::string>& paths() const { return paths_; }

 private:
  Result<void> AddList(kmod_list* list) {
    for (kmod_list* item = list; item != nullptr; item = kmod_list_next(list, item)) {
      const KmodModule module(kmod_module_get_module(item));
      RETURN_IF_ERROR(AddModule(module.get()));
    }
    return {};
  }

  Result<void> AddModule(kmod_module* module) {
    const char* path = kmod_module_get_path(module);
    if (path == nullptr) return {};  // built in
    if (!paths_.emplace(path, kmod_module_get_name(module)).second) return {};
    const KmodList hard(kmod_module_get_dependencies(module));
    RETURN_IF_ERROR(AddList(hard.get()));
    kmod_list* pre = nullptr;
    kmod_list* post = nullptr;
    const int rc = kmod_module_get_softdeps(module, &pre, &post);
    const KmodList pre_owner(pre);
    const KmodList post_owner(post);
    if (rc < 0) return FailErrno(-rc, fmt::format("read the soft dependencies of {}", path));
    RETURN_IF_ERROR(AddList(pre));
    return AddList(post);
  }

  kmod_ctx* context_;
  std::map<std::string, std::string> paths_;
};

struct ArchiveDeleter {
  void operator()(archive* a) const { archive_read_free(a); }
};

Result<std::string> ReadDecompressed(const std::string& path) {
  const std::unique_ptr<archive, ArchiveDeleter> reader(archive_read_new());
  archive_entry* entry = nullptr;
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_raw(reader.get());
  std::string content;
  bool good = archive_read_open_filename(reader.get(), path.c_str(), 65536) == ARCHIVE_OK &&
              archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK;
  std::array<char, 65536> chunk;
  while (good) {
    const la_ssize_t n = archive_read_data(reader.get(), chunk.data(), chunk.size());
    if (n == 0) return content;
    good = n > 0;
    if (good) content.append(chunk.data(), static_cast<size_t>(n));
  }
  return Fail(ErrorKind::kKernel,
              fmt::format("decompress {}: {}", path, archive_error_string(reader.get())));
}

// "kernel/drivers/x.ko.xz" -> "kernel/drivers/x.ko"
std::string PlainName(const std::string& path) {
  const size_t end = path.rfind(".ko");
  return end == std::string::npos ? path : path.substr(0, end + 3);
}

// Runs depmod over just these modules and takes what libkmod reads.
Result<void> MakeIndexes(const std::string& source, const std::string& release,
                         const std::string& scratch, ModuleSet& set) {
  const std::string root = scratch + "/modules";
  const std::string target = fmt::format("{}/lib/modules/{}", root, release);
  std::error_code error;
  fs::remove_all(root, error);
  fs::create_directories(target, error);
  if (error) return FailErrno(error.value(), fmt::format("make the folder {}", target));
  for (const ModuleFile& module : set.modules) {
    const fs::path path = target + "/" + module.path;
    fs::create_directories(path.parent_path(), error);
    RETURN_IF_ERROR(WriteWholeFile(path.string(), module.content));
  }
  RETURN_IF_ERROR(WriteWholeFile(target + "/modules.order", ""));
  for (const char* name : {"modules.builtin", "modules.builtin.modinfo"}) {
    // Kernels before 5.2 have no modinfo of what is built in.
    if (!fs::exists(source + "/" + name, error)) continue;
    fs::copy_file(source + "/" + name, target + "/" + name, error);
    if (error) return FailErrno(error.value(), fmt::format("copy {}/{}", source, name));
  }
  RETURN_IF_ERROR(RunProgram({"depmod", "-b", root, release}, "index the guest's modules"));
  for (const char* name : {"modules.alias.bin", "modules.builtin.alias.bin", "modules.builtin.bin",
                           "modules.dep.bin", "modules.softdep", "modules.symbols.bin"}) {
    if (!fs::exists(target + "/" + name, error)) continue;
    ASSIGN_OR_RETURN(std::string content, ReadWholeFile(target + "/" + name));
    set.indexes.push_back({name, std::move(content)});
  }
  fs::remove_all(root, error);
  return {};
}

}  // namespace

Result<ModuleSet> CollectModules(const std::string& modules_root, const std::string& release,
                                 const std::vector<std::string>& names,
                                 const std::string& scratch) {
  const std::string folder =
      fs::path(fmt::format("{}/lib/modules/{}", modules_root, release)).lexically_normal().string();
  // No configuration: the host's modprobe.d is not the guest's business.
  const char* no_configuration = nullptr;
  const KmodContext context(kmod_new(folder.c_str(), &no_configuration));
  if (context == nullptr) {
    return Fail(ErrorKind::kKernel, fmt::format("read the modules in {}", folder));
  }
  Collector collector(context.get());
  ModuleSet set;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const bool found, collector.Add(name));
    if (!found) set.absent.push_back(name);
  }
  for (const auto& [path, name] : collector.paths()) {
    ASSIGN_OR_RETURN(std::string content, ReadDecompressed(path));
    set.modules.push_back(
        {PlainName(fs::path(path).lexically_relative(folder).string()), std::move(content)});
  }
  RETURN_IF_ERROR(MakeIndexes(folder, release, scratch, set));
  return set;
}

}  // namespace blkfair
