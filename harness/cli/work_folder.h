// WorkFolder: a folder of one run below $TMPDIR, removed when the run is over unless it is to be
// kept. Written to the journal before it is made, so that `blkfair clean` finds it after a kill.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace blkfair {

class Journal;

class WorkFolder {
 public:
  // `journal` outlives the folder.
  static Result<WorkFolder> Create(Journal* journal);
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }
  void Keep() { keep_ = true; }

 private:
  WorkFolder(Journal* journal, std::string path, uint64_t id)
      : journal_(journal), path_(std::move(path)), id_(id) {}

  Journal* journal_;
  std::string path_;
  uint64_t id_;  // of the folder's operation in the journal
  bool keep_ = false;
};

}  // namespace blkfair
