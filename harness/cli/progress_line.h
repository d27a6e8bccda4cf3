// The live line: phase and time left, on a terminal only (stderr); silent in a pipe. Any
// thread: runs side by side share one.
#pragma once

#include <mutex>
#include <string>

#include "harness/run/run.h"

namespace blkfair {

class ProgressLine {
 public:
  // `quiet`: say nothing even on a terminal.
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const std::string& scenario, const RunProgress& progress);
  // A line that stays: a step that was taken. Shown on a terminal and in a pipe, unless quiet.
  void Say(const std::string& line);
  void Clear();

 private:
  void ClearLocked();

  std::mutex mutex_;
  bool live_ = false;
  bool quiet_ = false;
  bool shown_ = false;
};

// Whether text on `fd` may carry colour: a terminal, and no NO_COLOR.
bool UseColour(int fd);

}  // namespace blkfair
