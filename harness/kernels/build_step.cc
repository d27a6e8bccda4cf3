#include "harness/kernels/build_step.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMs = 200;
constexpr size_t kTailBytes = 512;  // enough for the last line of a log

// A shell's exit codes for a command that it cannot execute, or cannot find (POSIX sh).
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// The last whole line of a file that is being written.
std::string LastLineOf(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || size == 0) return {};
  const auto fd = OpenFile(path, O_RDONLY);
  if (!fd) return {};
  std::array<char, kTailBytes> tail;
  const uintmax_t from = size > tail.size() ? size - tail.size() : 0;
  const ssize_t n = ::pread(fd->get(), tail.data(), tail.size(), static_cast<off_t>(from));
  if (n <= 0) return {};
  std::string_view text(tail.data(), static_cast<size_t>(n));
  text = text.substr(0, text.find_last_of('\n'));
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

std::string OutputSince(const std::string& path, uintmax_t begin) {
  const auto text = ReadWholeFile(path);
  return text && text->size() > begin ? text->substr(begin) : std::string();
}

}  // namespace

size_t BuildJobs() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&usable)));
}

std::string FirstComplaint(std::string_view output) {
  std::string make;
  std::string last;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = output.substr(at, end - at);
    at = end + 1;
    if (line.find("error:") != std::string_view::npos) return std::string(line);
    if (make.empty() && line.find("***") != std::string_view::npos) make = line;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) last = line;
  }
  return make.empty() ? last : make;
}

Result<void> RunBuildStep(const BuildStep& step, const BuildWatch& watch) {
  ASSIGN_OR_RETURN(const UniqueFd log, OpenFile(watch.log_file, O_WRONLY | O_CREAT | O_APPEND));
  std::error_code error;
  const uintmax_t begin = fs::file_size(watch.log_file, error);
  SpawnOptions options;
  options.argv = {"env", "--chdir=" + step.folder};
  options.argv.insert(options.argv.end(), step.argv.begin(), step.argv.end());
  options.environment = {"LC_ALL=C"};
  options.stdout_fd = log.get();
  options.stderr_fd = log.get();
  options.own_group = true;
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  std::optional<int> status;
  while (!(status = child.Wait(kPollMs))) {
    if (watch.interrupted && watch.interrupted()) {
      child.Kill();
      return Fail(ErrorKind::kInterrupted, fmt::format("{}: interrupted", step.what));
    }
    if (watch.progress) watch.progress(LastLineOf(watch.log_file));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  const std::string complaint = FirstComplaint(OutputSince(watch.log_file, begin));
  const bool could_not_run = WIFEXITED(*status) && (WEXITSTATUS(*status) == kNotExecutable ||
                                                    WEXITSTATUS(*status) == kNotFound);
  return Fail(
      could_not_run ? ErrorKind::kUnmet : ErrorKind::kKernel,
      fmt::format("{}: {}; the whole output is in {}", step.what,
                  complaint.empty() ? DescribeWaitStatus(*status) : complaint, watch.log_file));
}

}  // namespace blkfair
