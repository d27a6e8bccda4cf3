#include "harness/guest/image.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <map>
#include <memory>

#include "base/check.h"
#include "base/fd.h"
#include "harness/guest/elf_libraries.h"
#include "harness/guest/module_set.h"

namespace blkfair {
namespace {

struct Node {
  mode_t mode = S_IFDIR | 0755;
  dev_t device = 0;
  std::string content;
};

// Everything in the image by its path; folders come before what is in them.
class Tree {
 public:
  void AddFolder(const std::string& path) {
    if (path.empty() || path == "/" || nodes_.count(path) != 0) return;
    AddFolder(path.substr(0, path.rfind('/')));
    nodes_[path] = Node{};
  }
  void AddFile(const std::string& path, std::string content, mode_t permissions) {
    CHECK(path.starts_with('/'));
    AddFolder(path.substr(0, path.rfind('/')));
    nodes_[path] = Node{S_IFREG | permissions, 0, std::move(content)};
  }
  void AddDevice(const std::string& path, dev_t device) {
    AddFolder(path.substr(0, path.rfind('/')));
    nodes_[path] = Node{S_IFCHR | 0600, device, {}};
  }
  // A file of the host with the libraries it needs, at the same paths as here: the loader's search
  // list is built into it.
  Result<void> AddHostFile(const ImageFile& file) {
    ASSIGN_OR_RETURN(std::string content, ReadWholeFile(file.host_path));
    AddFile(file.guest_path, std::move(content), 0755);
    ASSIGN_OR_RETURN(const bool elf, IsElf(file.host_path));
    if (!elf) return {};
    ASSIGN_OR_RETURN(const std::vector<std::string> libraries, SharedLibrariesOf(file.host_path));
    for (const std::string& library : libraries) {
      if (nodes_.count(library) != 0) continue;
      ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(library));
      AddFile(library, std::move(bytes), 0755);
    }
    return {};
  }

  const std::map<std::string, Node>& nodes() const { return nodes_; }

 private:
  std::map<std::string, Node> nodes_;
};

struct ArchiveDeleter {
  void operator()(archive* a) const { archive_write_free(a); }
};
struct EntryDeleter {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};

// Owner, group, times and device numbers are zero, inode numbers count up: nothing of the machine
// or the moment is in the archive.
Result<void> WriteArchive(const Tree& tree, const std::string& image_path) {
  const std::unique_ptr<archive, ArchiveDeleter> writer(archive_write_new());
  const auto failed = [&] {
    return Fail(ErrorKind::kKernel, fmt::format("write the guest's image {}: {}", image_path,
                                                archive_error_string(writer.get())));
  };
  if (archive_write_set_format_cpio_newc(writer.get()) != ARCHIVE_OK ||
      archive_write_open_filename(writer.get(), image_path.c_str()) != ARCHIVE_OK) {
    return failed();
  }
  int64_t inode = 0;
  for (const auto& [path, node] : tree.nodes()) {
    const std::unique_ptr<archive_entry, EntryDeleter> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), path.substr(1).c_str());
    archive_entry_set_mode(entry.get(), node.mode);
    archive_entry_set_ino64(entry.get(), ++inode);
    archive_entry_set_nlink(entry.get(), S_ISDIR(node.mode) ? 2 : 1);
    archive_entry_set_uid(entry.get(), 0);
    archive_entry_set_gid(entry.get(), 0);
    archive_entry_set_dev(entry.get(), 0);
    archive_entry_set_rdev(entry.get(), node.device);
    archive_entry_set_mtime(entry.get(), 0, 0);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(node.content.size()));
    if (archive_write_header(writer.get(), entry.get()) != ARCHIVE_OK) return failed();
    if (!node.content.empty() &&
        archive_write_data(writer.get(), node.content.data(), node.content.size()) !=
            static_cast<la_ssize_t>(node.content.size())) {
      return failed();
    }
  }
  if (archive_write_close(writer.get()) != ARCHIVE_OK) return failed();
  return {};
}

}  // namespace

Result<void> BuildImage(const ImageSpec& spec, const std::string& scratch,
                        const std::string& image_path) {
  Tree tree;
  for (const char* folder : {"/dev", "/proc", "/sys", "/tmp", "/run", "/root", "/etc"}) {
    tree.AddFolder(folder);
  }
  tree.AddDevice("/dev/console", makedev(5, 1));  // what the kernel opens for init
  RETURN_IF_ERROR(tree.AddHostFile({spec.init_executable, "/init"}));
  for (const ImageFile& file : spec.files) RETURN_IF_ERROR(tree.AddHostFile(file));
  for (const auto& [path, text] : spec.texts) tree.AddFile(path, text, 0644);
  if (!spec.modules_root.empty()) {
    ASSIGN_OR_RETURN(ModuleSet set,
                     CollectModules(spec.modules_root, spec.release, spec.modules, scratch));
    const std::string folder = fmt::format("/lib/modules/{}", spec.release);
    for (std::vector<ModuleFile>* files : {&set.modules, &set.indexes}) {
      for (ModuleFile& file : *files) {
        tree.AddFile(folder + "/" + file.path, std::move(file.content), 0644);
      }
    }
  }
  return WriteArchive(tree, image_path);
}

}  // namespace blkfair
