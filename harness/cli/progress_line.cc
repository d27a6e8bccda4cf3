#include "harness/cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/units.h"

namespace blkfair {

ProgressLine::ProgressLine(bool quiet)
    : live_(!quiet && ::isatty(STDERR_FILENO) == 1), quiet_(quiet) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Show(const std::string& scenario, const RunProgress& progress) {
  if (!live_) return;
  std::string line = scenario + ": " + progress.phase;
  if (progress.phase_index > 0) {
    line += fmt::format(" ({}/{})", progress.phase_index, progress.phase_count);
  }
  if (progress.length_ns > 0) {
    const int64_t left_ns = progress.length_ns - progress.elapsed_ns;
    line += fmt::format(", {} of {} left",
                        HumanDuration(static_cast<double>(left_ns > 0 ? left_ns : 0)),
                        HumanDuration(static_cast<double>(progress.length_ns)));
  }
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "\r\033[K{}{}{}", series_, series_.empty() ? "" : "; ", line);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::SetSeries(std::string series) {
  const std::lock_guard lock(mutex_);
  series_ = std::move(series);
}

void ProgressLine::Say(const std::string& line) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  ClearLocked();
  fmt::print(stderr, "{}\n", line);
}

void ProgressLine::Clear() {
  const std::lock_guard lock(mutex_);
  ClearLocked();
}

void ProgressLine::ClearLocked() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

std::string SeriesText(size_t done, size_t total, double seconds) {
  if (total <= 1) return {};
  if (done == 0) return fmt::format("1 of {} runs", total);
  const double left = seconds / static_cast<double>(done) * static_cast<double>(total - done);
  const std::string time =
      left < 120 ? fmt::format("{:.0f} s", left) : fmt::format("{:.0f} min", left / 60);
  return fmt::format("{} of {} runs done, about {} left", done, total, time);
}

bool UseColour(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return !refused && !dumb && ::isatty(fd) == 1;
}

}  // namespace blkfair
