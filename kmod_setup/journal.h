// The restore journal: every change to the kernel or the file system is written here, and synced,
// before it is made, and marked when it has been undone. A run that ends in order leaves no
// journal; after a SIGKILL or a panic `blkfair clean` undoes what the journal lists, and nothing
// else. One journal belongs to one process and is used from one thread.
//
// The file is text, one line per entry, fields separated by tabs (\t, \n and \\ are escaped):
//   blkfair-journal 1 PID START_TIME BOOT_ID
//   do ID KIND OBJECT BEFORE AFTER
//   undone ID
// An operation that is not marked undone may or may not have happened: undoing copes with both.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "base/result.h"
#include "kmod_setup/module.h"

namespace blkfair {

// What kernel objects that blkfair makes are called, so that they can be told from others'.
inline constexpr std::string_view kObjectPrefix = "bf-";
// nvmet's ports are called by 16-bit numbers: ours are 0xbf00 to 0xbfff, spelt so.
inline constexpr std::string_view kNvmetPortPrefix = "0xbf";
// What its work folders are called.
inline constexpr std::string_view kFolderPrefix = "blkfair-";

enum class OperationKind : uint8_t {
  kWrite,         // object: path; before and after: its values. Undone by writing `before`
  kSet,           // like kWrite, to a file of an object made here, which goes with that object
  kMakeDir,       // object: path
  kSymlink,       // object: path; after: target
  kMount,         // object: path; after: file system type
  kLoadModule,    // object: module; after: parameters
  kUnloadModule,  // object: module; before: parameters. Undone by loading it again with them
  kSpawn,         // object: pid; before: its start time, from /proc/PID/stat
  kConnect,       // object: NQN of an NVMe subsystem; after: options. Undone by disconnecting it
  kFolder,        // object: path of a work folder, removed with all that is in it
};

struct Operation {
  OperationKind kind = OperationKind::kWrite;
  std::string object;
  std::string before;
  std::string after;
  bool operator==(const Operation&) const = default;
};

class Journal {
 public:
  // A new journal file in `dir`, which is made when missing. `fs` tells who and when we are.
  static Result<Journal> Create(const std::string& dir, const KernelFs& fs);
  // Keeps nothing: for a guest, whose kernel is thrown away with all that was changed in it.
  static Journal Discarding();

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  // Removes the file if everything was undone; otherwise it stays for `blkfair clean`.
  ~Journal();

  // Call before the operation is done. On an error it must not be done.
  Result<uint64_t> Begin(const Operation& operation);
  // Call when it has been undone, or when it failed and changed nothing.
  Result<void> MarkUndone(uint64_t id);

  const std::string& path() const { return path_; }  // empty when discarding
  uint32_t open_operations() const { return open_operations_; }

 private:
  Journal() = default;

  UniqueFd fd_;
  std::string path_;
  uint64_t next_id_ = 1;
  uint32_t open_operations_ = 0;
};

// The start time of a process, in clock ticks since boot: with the pid it names a process for good.
Result<std::string> ProcessStartTime(const KernelFs& fs, pid_t pid);
// The operation of having started `pid`. Journal it while the child waits, before it executes.
Result<Operation> SpawnOperation(const KernelFs& fs, pid_t pid);

// A journal file, read back. A torn last line is left out: its operation was never begun.
struct JournalContents {
  pid_t owner = 0;
  std::string owner_start_time;
  std::string boot_id;
  std::vector<std::pair<uint64_t, Operation>> open;  // not marked undone, in order
};
Result<JournalContents> ParseJournal(std::string_view text);

// Undoes one operation, if there is anything to undo: a second time it finds nothing and succeeds.
// Retries for a bounded time what the kernel calls busy. Refuses to remove an object or a folder
// without our prefix.
Result<void> UndoOperation(const Operation& operation, KernelFs& fs, ModuleLoader& modules);

struct CleanReport {
  uint32_t journals_undone = 0;  // completely: their files are gone
  uint32_t journals_live = 0;    // left alone: their run is still going on
  uint32_t operations_undone = 0;
  std::vector<std::string> failures;
  bool ok() const { return failures.empty(); }
};

// What `blkfair clean` does: undoes every journal in `dir` whose process is dead, newest operation
// first, going on past failures. What failed stays in its journal for the next time. After a reboot
// only folders are left to remove. `say` gets one line per journal and per operation; may be null.
CleanReport UndoJournals(const std::string& dir, KernelFs& fs, ModuleLoader& modules,
                         const std::function<void(const std::string&)>& say);

}  // namespace blkfair
