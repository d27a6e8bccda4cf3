// What `blkfair clean` does: undoes the journals of dead runs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "kmod_setup/journal.h"

namespace blkfair {

namespace {

constexpr std::string_view kJournalPrefix = "journal-";

std::string Describe(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kWrite:
      return fmt::format("{} back to {}", operation.object, operation.before);
    case OperationKind::kSet:
      return fmt::format("{} goes with its object", operation.object);
    case OperationKind::kMakeDir:
      return fmt::format("remove {}", operation.object);
    case OperationKind::kSymlink:
      return fmt::format("remove link {}", operation.object);
    case OperationKind::kMount:
      return fmt::format("unmount {}", operation.object);
    case OperationKind::kLoadModule:
      return fmt::format("unload module {}", operation.object);
    case OperationKind::kUnloadModule:
      return fmt::format("load module {} again", operation.object);
    case OperationKind::kSpawn:
      return fmt::format("end process {}", operation.object);
    case OperationKind::kConnect:
      return fmt::format("disconnect {}", operation.object);
    case OperationKind::kFolder:
      return fmt::format("remove folder {}", operation.object);
  }
  return {};
}

class Cleaner {
 public:
  Cleaner(KernelFs& fs, ModuleLoader& modules, const std::function<void(const std::string&)>& say)
      : fs_(fs), modules_(modules), say_(say) {
    boot_id_ = fs.ReadLine(fs.roots().proc + "/sys/kernel/random/boot_id").value_or("");
  }

  void Undo(const std::string& path);
  CleanReport report;

 private:
  bool IsLive(const JournalContents& journal) const;
  void UndoOpen(const std::string& path, int fd, const JournalContents& journal);
  void Say(const std::string& line) const {
    if (say_) say_(line);
  }
  void AddFailure(std::string failure) {
    Say("failed: " + failure);
    report.failures.push_back(std::move(failure));
  }

  KernelFs& fs_;
  ModuleLoader& modules_;
  const std::function<void(const std::string&)>& say_;
  std::string boot_id_;
};

bool Cleaner::IsLive(const JournalContents& journal) const {
  if (journal.owner == 0 || journal.boot_id != boot_id_) return false;
  const Result<std::string> start = ProcessStartTime(fs_, journal.owner);
  return start && *start == journal.owner_start_time;
}

void Cleaner::Undo(const std::string& path) {
  Result<UniqueFd> fd = OpenFile(path, O_RDWR | O_APPEND);
  if (!fd) {
    if (fd.error().os_errno != ENOENT) AddFailure(fd.error().message);
    return;
  }
  if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    Say(fmt::format("{}: another clean is at it", path));
    report.journals_live++;
    return;
  }
  const Result<std::string> text = ReadWholeFile(path);
  if (!text) return AddFailure(text.error().message);
  const Result<JournalContents> journal = ParseJournal(*text);
  if (!journal) return AddFailure(fmt::format("read {}: {}", path, journal.error().message));
  if (IsLive(*journal)) {
    Say(fmt::format("{}: left alone, process {} is running", path, journal->owner));
    report.journals_live++;
    return;
  }
  // A torn last line must not become the beginning of a line that is appended now.
  if (!text->empty() && text->back() != '\n') {
    const auto whole = static_cast<off_t>(text->rfind('\n') + 1);
    if (::ftruncate(fd->get(), whole) != 0) return AddFailure("truncate " + path);
  }
  UndoOpen(path, fd->get(), *journal);
}

void Cleaner::UndoOpen(const std::string& path, int fd, const JournalContents& journal) {
  Say(fmt::format("{}: process {} is gone, {} operations to undo", path, journal.owner,
                  journal.open.size()));
  const bool same_boot = journal.boot_id == boot_id_;
  bool all_undone = true;
  for (auto entry = journal.open.rbegin(); entry != journal.open.rend(); ++entry) {
    const auto& [id, operation] = *entry;
    // A reboot has undone the rest, and what has that name now is not what the run changed.
    if (same_boot || operation.kind == OperationKind::kFolder) {
      if (const Result<void> undone = UndoOperation(operation, fs_, modules_); !undone) {
        AddFailure(undone.error().message);
        all_undone = false;
        continue;
      }
      Say("undone: " + Describe(operation));
      report.operations_undone++;
    }
    if (const Result<void> marked = WriteAll(fd, fmt::format("undone\t{}\n", id), path); !marked) {
      AddFailure(marked.error().message);
      all_undone = false;
    }
  }
  if (!all_undone) return;
  if (::unlink(path.c_str()) != 0) return AddFailure("remove " + path);
  report.journals_undone++;
}

}  // namespace

CleanReport UndoJournals(const std::string& dir, KernelFs& fs, ModuleLoader& modules,
                         const std::function<void(const std::string&)>& say) {
  Cleaner cleaner(fs, modules, say);
  if (!fs.Exists(dir)) return cleaner.report;
  Result<std::vector<std::string>> names = fs.List(dir);
  if (!names) {
    cleaner.report.failures.push_back(names.error().message);
    return cleaner.report;
  }
  for (const std::string& name : *names) {
    if (name.rfind(kJournalPrefix, 0) == 0) cleaner.Undo(fmt::format("{}/{}", dir, name));
  }
  return cleaner.report;
}

}  // namespace blkfair
