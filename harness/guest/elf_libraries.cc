#include "harness/guest/elf_libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace {

Result<std::string> ReadAt(const UniqueFd& fd, size_t bytes, uint64_t offset,
                           const std::string& path) {
  std::string text(bytes, '\0');
  const ssize_t n = ::pread(fd.get(), text.data(), bytes, static_cast<off_t>(offset));
  if (n < 0) return FailErrno(errno, fmt::format("read {}", path));
  text.resize(static_cast<size_t>(n));
  return text;
}

bool HasElfMagic(const std::string& head) { return head.starts_with(ELFMAG); }

// The loader that the program names (PT_INTERP), or an empty text.
Result<std::string> LoaderOf(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  ASSIGN_OR_RETURN(const std::string head, ReadAt(fd, sizeof(Elf64_Ehdr), 0, path));
  if (!HasElfMagic(head) || head.size() < sizeof(Elf64_Ehdr) || head[EI_CLASS] != ELFCLASS64) {
    return Fail(ErrorKind::kKernel, fmt::format("read {}: it is not a 64-bit ELF file", path));
  }
  Elf64_Ehdr header;
  std::memcpy(&header, head.data(), sizeof header);
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    ASSIGN_OR_RETURN(
        const std::string bytes,
        ReadAt(fd, sizeof(Elf64_Phdr), header.e_phoff + uint64_t{i} * header.e_phentsize, path));
    Elf64_Phdr segment;
    if (bytes.size() < sizeof segment) break;
    std::memcpy(&segment, bytes.data(), sizeof segment);
    if (segment.p_type != PT_INTERP || segment.p_filesz > 4096) continue;
    ASSIGN_OR_RETURN(const std::string name, ReadAt(fd, segment.p_filesz, segment.p_offset, path));
    return std::string(name.c_str());
  }
  return std::string();
}

}  // namespace

Result<bool> IsElf(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  ASSIGN_OR_RETURN(const std::string head, ReadAt(fd, SELFMAG, 0, path));
  return HasElfMagic(head);
}

Result<std::vector<std::string>> SharedLibrariesOf(const std::string& path) {
  std::vector<std::string> libraries;
  ASSIGN_OR_RETURN(const std::string loader, LoaderOf(path));
  if (loader.empty()) return libraries;
  ASSIGN_OR_RETURN(
      const std::string list,
      RunProgram({loader, "--list", path}, fmt::format("list the libraries of {}", path)));
  // "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)", "\t/lib64/ld-linux... (0x...)",
  // "\tlinux-vdso.so.1 (0x...)", "\tlibx.so => not found".
  libraries.push_back(loader);
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find('\n', at), list.size());
    const std::string line = list.substr(at, end - at);
    at = end + 1;
    if (line.find("not found") != std::string::npos) {
      return Fail(ErrorKind::kUnmet, fmt::format("find a library of {}:{}", path, line));
    }
    const size_t slash = line.find('/');
    const size_t address = line.rfind(" (0x");
    if (slash == std::string::npos || address == std::string::npos || address < slash) continue;
    const std::string library = line.substr(slash, address - slash);
    if (library != loader) libraries.push_back(library);
  }
  return libraries;
}

}  // namespace blkfair
