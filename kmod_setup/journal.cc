#include "kmod_setup/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

namespace blkfair {

namespace {

constexpr std::string_view kMagic = "blkfair-journal";
constexpr std::string_view kFormat = "1";

constexpr std::array<std::pair<OperationKind, std::string_view>, 10> kKindNames = {{
    {OperationKind::kWrite, "write"},
    {OperationKind::kSet, "set"},
    {OperationKind::kMakeDir, "mkdir"},
    {OperationKind::kSymlink, "symlink"},
    {OperationKind::kMount, "mount"},
    {OperationKind::kLoadModule, "load"},
    {OperationKind::kUnloadModule, "unload"},
    {OperationKind::kSpawn, "spawn"},
    {OperationKind::kConnect, "connect"},
    {OperationKind::kFolder, "folder"},
}};

std::string_view KindName(OperationKind kind) {
  for (const auto& [candidate, name] : kKindNames) {
    if (candidate == kind) return name;
  }
  return "?";
}

std::optional<OperationKind> KindFromName(std::string_view name) {
  for (const auto& [kind, candidate] : kKindNames) {
    if (candidate == name) return kind;
  }
  return std::nullopt;
}

std::string Escape(std::string_view field) {
  std::string out;
  for (const char c : field) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Unescape(std::string_view field) {
  std::string out;
  for (size_t i = 0; i < field.size(); i++) {
    if (field[i] != '\\' || i + 1 == field.size()) {
      out += field[i];
      continue;
    }
    i++;
    out += field[i] == 't' ? '\t' : field[i] == 'n' ? '\n' : field[i];
  }
  return out;
}

std::string Line(std::initializer_list<std::string_view> fields) {
  std::string line;
  for (const std::string_view field : fields) {
    if (!line.empty()) line += '\t';
    line += Escape(field);
  }
  return line + '\n';
}

std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    const size_t tab = line.find('\t');
    fields.push_back(Unescape(line.substr(0, tab)));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && rest == text.data() + text.size();
}

Result<std::string> StartTimeFromStat(const std::string& stat, const std::string& path) {
  // Field 22 of proc(5); the second one, in parentheses, may hold anything, so count behind it.
  size_t at = stat.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; field++) at = stat.find(' ', at + 1);
  if (at == std::string::npos) {
    return Fail(ErrorKind::kKernel, fmt::format("read {}: no start time in it", path));
  }
  const size_t begin = at + 1;
  return stat.substr(begin, stat.find_first_of(" \n", begin) - begin);
}

}  // namespace

Result<std::string> ProcessStartTime(const KernelFs& fs, pid_t pid) {
  const std::string path = fmt::format("{}/{}/stat", fs.roots().proc, pid);
  ASSIGN_OR_RETURN(const std::string stat, fs.Read(path));
  return StartTimeFromStat(stat, path);
}

Result<Operation> SpawnOperation(const KernelFs& fs, pid_t pid) {
  ASSIGN_OR_RETURN(std::string start, ProcessStartTime(fs, pid));
  return Operation{.kind = OperationKind::kSpawn,
                   .object = std::to_string(pid),
                   .before = std::move(start),
                   .after = {}};
}

Result<Journal> Journal::Create(const std::string& dir, const KernelFs& fs) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error)
    return FailErrno(error.value(),
                     fmt::format("make directory {} (XDG_STATE_HOME or HOME name its place)", dir));
  const pid_t pid = ::getpid();
  ASSIGN_OR_RETURN(const std::string start, ProcessStartTime(fs, pid));
  ASSIGN_OR_RETURN(const std::string boot_id,
                   fs.ReadLine(fs.roots().proc + "/sys/kernel/random/boot_id"));
  const std::string head = Line({kMagic, kFormat, std::to_string(pid), start, boot_id});

  // One process may keep several journals, one run after the other or side by side.
  Journal journal;
  for (int i = 0;; i++) {
    journal.path_ = fmt::format("{}/journal-{}-{}-{}", dir, pid, start, i);
    Result<UniqueFd> fd = OpenFile(journal.path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (fd) {
      journal.fd_ = std::move(*fd);
      break;
    }
    if (fd.error().os_errno != EEXIST) {
      journal.path_.clear();
      return Fail(std::move(fd.error()));
    }
  }
  RETURN_IF_ERROR(WriteAll(journal.fd_.get(), head, journal.path_));
  if (::fsync(journal.fd_.get()) != 0) return FailErrno(errno, "sync " + journal.path_);
  ASSIGN_OR_RETURN(const UniqueFd dir_fd, OpenFile(dir, O_RDONLY | O_DIRECTORY));
  if (::fsync(dir_fd.get()) != 0) return FailErrno(errno, "sync " + dir);
  return journal;
}

Journal Journal::Discarding() { return {}; }

Journal::Journal(Journal&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      next_id_(other.next_id_),
      open_operations_(std::exchange(other.open_operations_, 0)) {}

Journal::~Journal() {
  if (!path_.empty() && open_operations_ == 0) ::unlink(path_.c_str());
}

Result<uint64_t> Journal::Begin(const Operation& operation) {
  const uint64_t id = next_id_++;
  if (fd_.valid()) {
    const std::string line = Line({"do", std::to_string(id), KindName(operation.kind),
                                   operation.object, operation.before, operation.after});
    RETURN_IF_ERROR(WriteAll(fd_.get(), line, path_));
    if (::fdatasync(fd_.get()) != 0) return FailErrno(errno, "sync " + path_);
  }
  open_operations_++;
  return id;
}

Result<void> Journal::MarkUndone(uint64_t id) {
  // Not synced: when this line is lost, the operation is undone once more and nothing is found.
  if (fd_.valid()) {
    RETURN_IF_ERROR(WriteAll(fd_.get(), Line({"undone", std::to_string(id)}), path_));
  }
  open_operations_--;
  return {};
}

Result<JournalContents> ParseJournal(std::string_view text) {
  JournalContents contents;
  bool first = true;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::vector<std::string> fields = Fields(text.substr(0, end));
    text.remove_prefix(end + 1);
    uint64_t id = 0;
    if (first) {
      if (fields.size() != 5 || fields[0] != kMagic || fields[1] != kFormat ||
          !ParseNumber(fields[2], &contents.owner)) {
        return Fail(ErrorKind::kKernel, "it is not a journal of this version of blkfair");
      }
      contents.owner_start_time = fields[3];
      contents.boot_id = fields[4];
      first = false;
    } else if (fields.size() == 6 && fields[0] == "do" && ParseNumber(fields[1], &id)) {
      const std::optional<OperationKind> kind = KindFromName(fields[2]);
      if (!kind) {
        return Fail(ErrorKind::kKernel,
                    fmt::format("it holds an unknown operation, '{}'", fields[2]));
      }
      contents.open.emplace_back(id, Operation{*kind, fields[3], fields[4], fields[5]});
    } else if (fields.size() == 2 && fields[0] == "undone" && ParseNumber(fields[1], &id)) {
      std::erase_if(contents.open, [id](const auto& entry) { return entry.first == id; });
    } else {
      return Fail(ErrorKind::kKernel, "it holds a line that is no journal entry");
    }
  }
  // Killed before the head was whole: nothing had been begun.
  if (first) contents.owner = 0;
  return contents;
}

}  // namespace blkfair
