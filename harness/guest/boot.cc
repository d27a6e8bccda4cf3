#include "harness/guest/boot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/fd.h"
#include "harness/guest/layout.h"
#include "harness/guest/process.h"
#include "harness/guest/qemu.h"
#include "kmod_setup/journal.h"

namespace blkfair {
namespace {

constexpr int kBootsMax = 3;
constexpr int64_t kSecondNs = 1'000'000'000;
// A boot takes 3 to 10 s of processor time.
constexpr int64_t kLifeCpuNs = 60 * kSecondNs;
constexpr int64_t kLifeWallNs = 180 * kSecondNs;
// A guest that panicked or said that it is done ends by itself within a moment.
constexpr int64_t kGraceNs = 20 * kSecondNs;
constexpr int kPollMs = 50;
constexpr size_t kTailLines = 15;

int64_t WallNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Follows a file that QEMU writes.
class Tail {
 public:
  explicit Tail(std::string path) : path_(std::move(path)) {}

  // What was added since the last call.
  std::string Read() {
    if (!fd_.valid()) {
      Result<UniqueFd> opened = OpenFile(path_, O_RDONLY);
      if (!opened) return {};
      fd_ = std::move(*opened);
    }
    std::string added;
    std::array<char, 65536> chunk;
    ssize_t n = 0;
    while ((n = ::read(fd_.get(), chunk.data(), chunk.size())) > 0) {
      added.append(chunk.data(), static_cast<size_t>(n));
    }
    return added;
  }

 private:
  std::string path_;
  UniqueFd fd_;
};

// The console so far: signs of life and trouble, progress, and the last lines for people.
class Console {
 public:
  explicit Console(const BootOptions& options) : options_(options) {}

  void Feed(std::string_view bytes) {
    pending_.append(bytes);
    size_t end = 0;
    while ((end = pending_.find('\n')) != std::string::npos) {
      Line(pending_.substr(0, end));
      pending_.erase(0, end + 1);
    }
  }
  void Finish() {
    if (!pending_.empty()) Line(std::exchange(pending_, {}));
  }

  bool alive() const { return alive_; }
  bool panicked() const { return panicked_; }
  const std::string& complaint() const { return complaint_; }
  std::string LastLines() const {
    std::string text;
    for (const std::string& line : tail_) text += fmt::format("\n  | {}", line);
    return text;
  }

 private:
  void Line(std::string line) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) return;
    RunProgress progress;
    if (ParseProgressLine(line, &progress)) {
      if (options_.progress) options_.progress(progress);
      return;
    }
    const ConsoleSign sign = ReadConsoleLine(line);
    if (sign == ConsoleSign::kAlive) alive_ = true;
    if (sign == ConsoleSign::kPanic) panicked_ = true;
    // The first complaint is the cause, a panic that follows from it is not.
    if ((sign == ConsoleSign::kPanic || sign == ConsoleSign::kComplaint) && complaint_.empty()) {
      complaint_ = line;
    }
    tail_.push_back(std::move(line));
    if (tail_.size() > kTailLines) tail_.pop_front();
  }

  const BootOptions& options_;
  std::string pending_;
  bool alive_ = false;
  bool panicked_ = false;
  std::string complaint_;
  std::deque<std::string> tail_;
};

// One QEMU process from start to end.
class Boot {
 public:
  Boot(const BootOptions& options, const QemuSpec& spec)
      : options_(options),
        spec_(spec),
        console_(options),
        console_tail_(spec.console_file),
        results_tail_(spec.results_file) {}

  BootOutcome Run();
  // Whether the outcome is "no sign of life", which is worth another try.
  bool lifeless() const { return !console_.alive() && !console_.panicked() && lifeless_; }

 private:
  Result<void> WriteInJournal(pid_t pid);
  void Collect();
  // Empty while all is well; otherwise why the guest must be stopped.
  std::string Overdue();
  std::string WhyItEnded(const std::string& stopped_because, std::optional<int> status) const;

  const BootOptions& options_;
  const QemuSpec& spec_;
  Console console_;
  Tail console_tail_;
  Tail results_tail_;
  FrameReader reader_;
  std::optional<ChildProcess> qemu_;
  std::optional<uint64_t> journal_entry_;  // of QEMU
  BootOutcome outcome_;
  int64_t started_ns_ = 0;
  std::optional<int64_t> ending_since_ns_;  // when it panicked or said that it is done
  bool finished_ = false;
  bool lifeless_ = false;
};

Result<void> Boot::WriteInJournal(pid_t pid) {
  if (options_.journal == nullptr) return {};
  const KernelFs fs(KernelRoots::Real());
  ASSIGN_OR_RETURN(const Operation spawn, SpawnOperation(fs, pid));
  ASSIGN_OR_RETURN(journal_entry_, options_.journal->Begin(spawn));
  return {};
}

void Boot::Collect() {
  console_.Feed(console_tail_.Read());
  reader_.Feed(results_tail_.Read());
  while (std::optional<Frame> frame = reader_.Next()) {
    finished_ |= frame->kind == kFrameEnd;
    outcome_.frames.push_back(std::move(*frame));
  }
  if (!ending_since_ns_ && (finished_ || console_.panicked())) ending_since_ns_ = WallNs();
}

std::string Boot::Overdue() {
  const int64_t wall_ns = WallNs() - started_ns_;
  const int64_t cpu_ns = qemu_->CpuTimeNs();
  if (ending_since_ns_ && WallNs() - *ending_since_ns_ > kGraceNs) return "it did not power off";
  if (!console_.alive() && (cpu_ns > kLifeCpuNs || wall_ns > kLifeWallNs)) {
    return fmt::format("it showed no life within {} s", wall_ns / kSecondNs);
  }
  if (cpu_ns > options_.limit_ns || wall_ns > 2 * options_.limit_ns) {
    return fmt::format("it was still running after {} s, which is its time limit",
                       wall_ns / kSecondNs);
  }
  return {};
}

std::string Boot::WhyItEnded(const std::string& stopped_because, std::optional<int> status) const {
  if (!console_.complaint().empty()) return console_.complaint();
  if (!stopped_because.empty()) return stopped_because;
  if (status && *status != 0) {
    const Result<std::string> said = ReadWholeFile(spec_.stderr_file);
    return fmt::format("QEMU ended with {}{}{}", DescribeWaitStatus(*status),
                       said && !said->empty() ? ": " : "", said ? *said : "");
  }
  return "it powered off or reset before it was done";
}

BootOutcome Boot::Run() {
  outcome_.qemu_arguments = QemuArguments(spec_);
  Result<ChildProcess> started =
      StartQemu(spec_, [this](pid_t pid) { return WriteInJournal(pid); });
  // What is not marked in the end stays for `blkfair clean`, which finds no such process.
  const auto mark_gone = [this] {
    if (journal_entry_) (void)options_.journal->MarkUndone(*journal_entry_);
  };
  if (!started) {
    mark_gone();
    outcome_.end = BootEnd::kNotStarted;
    outcome_.why = started.error().message;
    return std::move(outcome_);
  }
  qemu_ = std::move(*started);
  started_ns_ = WallNs();
  std::string stopped_because;
  std::optional<int> status;
  bool interrupted = false;
  while (!status && stopped_because.empty() && !interrupted) {
    status = qemu_->Wait(kPollMs);
    Collect();
    if (status) break;
    interrupted = options_.interrupted && options_.interrupted();
    stopped_because = Overdue();
  }
  qemu_->Kill();
  mark_gone();
  reader_.Finish();
  Collect();
  console_.Finish();

  // QEMU says why it cannot start (a bad option, no memory) and exits with 1: no use to try again.
  const bool refused = status && WIFEXITED(*status) && WEXITSTATUS(*status) != 0;
  lifeless_ = !interrupted && !refused;
  if (finished_) {
    outcome_.end = BootEnd::kFinished;
    outcome_.why = console_.complaint();
  } else if (interrupted) {
    outcome_.end = BootEnd::kInterrupted;
    outcome_.why = "interrupted";
  } else {
    outcome_.end = refused && !console_.alive() ? BootEnd::kNotStarted : BootEnd::kDied;
    outcome_.why = WhyItEnded(stopped_because, status) + console_.LastLines();
  }
  return std::move(outcome_);
}

}  // namespace

BootOutcome BootGuest(const BootOptions& options) {
  QemuSpec spec;
  spec.kernel_image = options.kernel.image;
  spec.initrd = options.initrd;
  spec.boot_words = options.boot_words;
  spec.device_arguments = options.qemu_arguments;
  spec.time = options.time;
  spec.kvm = options.time == GuestTime::kReal && KvmWorks();
  spec.shape = options.shape;
  spec.console_file = options.console_file;
  spec.results_file = options.work_folder + "/results.frames";
  spec.stderr_file = options.work_folder + "/qemu.log";

  std::vector<std::string> failed_boots;
  while (true) {
    std::error_code error;
    std::filesystem::remove(spec.console_file, error);
    std::filesystem::remove(spec.results_file, error);
    Boot boot(options, spec);
    BootOutcome outcome = boot.Run();
    if (outcome.end != BootEnd::kDied || !boot.lifeless()) {
      outcome.failed_boots = std::move(failed_boots);
      return outcome;
    }
    failed_boots.push_back(fmt::format("boot {}: {}", failed_boots.size() + 1, outcome.why));
    if (failed_boots.size() == kBootsMax) {
      outcome.why =
          fmt::format("no boot of {} showed a sign of life{}; the last: {}", kBootsMax,
                      spec.kvm ? " under KVM (--time virtual does without it)" : "", outcome.why);
      outcome.failed_boots = std::move(failed_boots);
      return outcome;
    }
    std::filesystem::rename(spec.console_file,
                            fmt::format("{}.failed-{}", spec.console_file, failed_boots.size()),
                            error);
  }
}

bool ParseProgressLine(std::string_view line, RunProgress* progress) {
  if (!line.starts_with(guest::kProgress)) return false;
  line.remove_prefix(guest::kProgress.size());
  constexpr int64_t kNsPerMs = 1'000'000;
  int64_t numbers[4] = {};  // index / count elapsed / length
  for (size_t i = 0; i < 4; ++i) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), numbers[i]);
    const size_t used = static_cast<size_t>(end - line.data());
    if (error != std::errc() || used == line.size() || line[used] != "/ / "[i]) return false;
    line.remove_prefix(used + 1);
  }
  progress->phase = line;
  progress->phase_index = static_cast<uint32_t>(numbers[0]);
  progress->phase_count = static_cast<uint32_t>(numbers[1]);
  progress->elapsed_ns = numbers[2] * kNsPerMs;
  progress->length_ns = numbers[3] * kNsPerMs;
  return true;
}

ConsoleSign ReadConsoleLine(std::string_view line) {
  if (line.find("Kernel panic") != std::string_view::npos) return ConsoleSign::kPanic;
  // lib/bug.c, arch/x86/kernel/dumpstack.c, kernel/watchdog.c, kernel/hung_task.c; seen on 6.12.
  for (const std::string_view sign : {"BUG:", "Oops:", "kernel BUG at", "soft lockup",
                                      "hard LOCKUP", "blocked for more than", "rcu: INFO:"}) {
    if (line.find(sign) != std::string_view::npos) return ConsoleSign::kComplaint;
  }
  return line.find(guest::kAlive) != std::string_view::npos ? ConsoleSign::kAlive
                                                            : ConsoleSign::kNothing;
}

}  // namespace blkfair
