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
  // How far a series of runs is: stands before every line until it is set again; empty for none.
  void SetSeries(std::string series);
  // A line that stays: a step that was taken. Shown on a terminal and in a pipe, unless quiet.
  void Say(const std::string& line);
  void Clear();

 private:
  void ClearLocked();

  std::mutex mutex_;
  std::string series_;
  bool live_ = false;
  bool quiet_ = false;
  bool shown_ = false;
};

// "4 of 12 runs done, about 80 s left": what ended within `seconds`. Before the first has ended
// nobody knows how long they take. Empty for a single run.
std::string SeriesText(size_t done, size_t total, double seconds);

// Whether text on `fd` may carry colour: a terminal, and no NO_COLOR.
bool UseColour(int fd);

}  // namespace blkfair
