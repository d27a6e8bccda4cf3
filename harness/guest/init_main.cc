// The guest's first process. It mounts what a run needs, runs the scenario (or the command) that
// the image carries in a child process, hands out what came of it through the second serial port,
// and powers off, whatever happens: only a kernel that hangs can keep it from that.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/kernel_fs.h"
#include "harness/guest/frame.h"
#include "harness/guest/layout.h"
#include "harness/run/catalog.h"
#include "harness/run/run.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"
#include "results/record_json.h"
#include "scenarios/language/canonical.h"
#include "scenarios/language/reader.h"

namespace blkfair {
namespace {

// A line for people on the console.
void Say(std::string_view line) {
  const std::string text = fmt::format("blkfair: {}\n", line);
  static_cast<void>(WriteAll(STDOUT_FILENO, text, guest::kConsole));
}

// The second serial port, raw: a frame's bytes must arrive as they are.
class Results {
 public:
  static Result<Results> Open() {
    ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(std::string(guest::kResults), O_RDWR | O_NOCTTY));
    termios settings{};
    if (::tcgetattr(fd.get(), &settings) != 0) return FailErrno(errno, "read ttyS1's settings");
    ::cfmakeraw(&settings);
    if (::tcsetattr(fd.get(), TCSANOW, &settings) != 0) {
      return FailErrno(errno, "make ttyS1 raw");
    }
    return Results(std::move(fd));
  }

  // Out of the kernel's buffer too when this returns: a panic after it takes nothing away.
  void Send(std::string_view kind, std::string_view text) const {
    const Result<void> sent = WriteAll(fd_.get(), EncodeFrame(kind, text), guest::kResults);
    if (!sent) Say(sent.error().message);
    ::tcdrain(fd_.get());
  }

 private:
  explicit Results(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

struct RunConf {
  std::string time = "virtual";
  int64_t limit_ns = 0;
  uint32_t repeat = 1;
};

Result<RunConf> ReadRunConf() {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(std::string(guest::kRunPath)));
  RunConf conf;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const std::string_view value = line.substr(std::min(line.find('=') + 1, line.size()));
    if (line.starts_with("time=")) conf.time = value;
    if (line.starts_with("limit_ns=")) {
      std::from_chars(value.data(), value.data() + value.size(), conf.limit_ns);
    }
    if (line.starts_with("repeat=")) {
      std::from_chars(value.data(), value.data() + value.size(), conf.repeat);
    }
    at = end + 1;
  }
  return conf;
}

// Not KernelFs::Mount, which is for pseudo files alone: /dev must show devices, /tmp may hold
// programs.
Result<void> MountHere(const char* type, const std::string& path) {
  if (::mount(type, path.c_str(), type, 0, nullptr) == 0) return {};
  return FailErrno(errno, fmt::format("mount {} on {}", type, path));
}

// Best effort: what a kernel lacks, the fixture that needs it will name.
void MountAll(KernelFs& fs) {
  const KernelRoots& roots = fs.roots();
  const auto mount = [](const char* type, const std::string& path) {
    if (Result<void> mounted = MountHere(type, path); !mounted) Say(mounted.error().message);
  };
  mount("sysfs", roots.sys);
  mount("debugfs", roots.debugfs);
  mount("cgroup2", roots.cgroup);
  mount("tmpfs", "/tmp");
  mount("tmpfs", "/run");
  // Debian builds configfs as a module; its mount point appears with it.
  KmodModuleLoader modules;
  if (modules.Available("configfs")) {
    if (Result<void> loaded = modules.Load("configfs", {}); !loaded) Say(loaded.error().message);
  }
  if (fs.Exists(roots.configfs)) mount("configfs", roots.configfs);
}

void SayProgress(const RunProgress& progress) {
  constexpr int64_t kMs = 1'000'000;
  const std::string line = fmt::format("{}{}/{} {}/{} {}\n", guest::kProgress, progress.phase_index,
                                       progress.phase_count, progress.elapsed_ns / kMs,
                                       progress.length_ns / kMs, progress.phase);
  static_cast<void>(WriteAll(STDOUT_FILENO, line, guest::kConsole));
}

Result<void> RunTheScenario(KernelFs& fs, const RunConf& conf, const Results& results) {
  ASSIGN_OR_RETURN(const std::string toml, ReadWholeFile(std::string(guest::kScenarioPath)));
  const auto scenario = ParseScenario(toml, std::string(guest::kScenarioPath), TheCatalog(), {});
  if (!scenario) return Fail(ErrorKind::kUsage, scenario.error().front().ToString());
  KmodModuleLoader modules;
  Journal journal = Journal::Discarding();
  RunOptions options;
  options.scenario = &*scenario;
  options.canonical_toml = toml;
  options.scenario_hash = ScenarioHash(toml);
  options.repeat = conf.repeat;
  options.executor_name = "guest";
  options.time_name = conf.time;
  options.fs = &fs;
  options.modules = &modules;
  options.journal = &journal;
  options.boot_work_limit_ns = guest::kBootWorkLimitNs;
  options.progress = SayProgress;
  options.phase_done = [&results](const PhaseRecord& phase) {
    results.Send(kFramePhase, PhaseToJson(phase));
  };
  const Record record = RunScenario(options);
  results.Send(kFrameRecord, RecordToJson(record, /*pretty=*/false));
  return {};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

[[noreturn]] void Execute(std::vector<std::string> words, int output_fd) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::dup2(output_fd, STDOUT_FILENO);
  ::dup2(output_fd, STDERR_FILENO);
  ::execvp(argv[0], argv.data());
  Say(fmt::format("execute {}: {}", words[0], std::strerror(errno)));
  ::_exit(127);
}

struct Work {
  pid_t pid = -1;
  UniqueFd output;  // of a command; nothing for a scenario
};

// Starts the work in a child, so that its crash is not ours.
Result<Work> StartWork(KernelFs& fs, const RunConf& conf, const Results& results) {
  std::vector<std::string> command;
  if (const std::string path(guest::kCommandPath); ::access(path.c_str(), F_OK) == 0) {
    ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
    command = Lines(text);
  }
  std::array<int, 2> fds{-1, -1};
  if (!command.empty() && ::pipe2(fds.data(), O_CLOEXEC) != 0)
    return FailErrno(errno, "make a pipe");
  Work work;
  work.output = UniqueFd(fds[0]);
  const UniqueFd writer(fds[1]);
  work.pid = ::fork();
  if (work.pid < 0) return FailErrno(errno, "fork");
  if (work.pid > 0) return work;
  if (!command.empty()) Execute(command, writer.get());
  const Result<void> done = RunTheScenario(fs, conf, results);
  if (!done) Say(done.error().message);
  ::_exit(done ? 0 : 1);
}

// What is there to read goes out as frames; false at the end of the output.
bool PassOn(const UniqueFd& output, const Results& results) {
  std::array<char, 65536> chunk;
  const ssize_t n = ::read(output.get(), chunk.data(), chunk.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  results.Send(kFrameOutput, std::string_view(chunk.data(), static_cast<size_t>(n)));
  return true;
}

int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// Whether the kernel has killed for memory: its log says so. (/proc/vmstat counts it, if at all.)
bool OutOfMemory() {
  constexpr int kReadAll = 3;
  constexpr int kSize = 10;
  std::string log(static_cast<size_t>(std::max(0, ::klogctl(kSize, nullptr, 0))), '\0');
  ::klogctl(kReadAll, log.data(), static_cast<int>(log.size()));
  return log.find("Out of memory: Killed process") != std::string::npos;
}

// Until the child ends or its time is over. The clock is the guest's: under virtual time a guest
// that waits for ever gets there in no time at all.
std::string Supervise(Work& work, const RunConf& conf, const Results& results) {
  const UniqueFd child(static_cast<int>(::syscall(SYS_pidfd_open, work.pid, 0)));
  if (!child.valid()) return fmt::format("error watch the child: {}", std::strerror(errno));
  const int64_t end_ms = NowMs() + conf.limit_ns / 1'000'000;
  std::array<pollfd, 2> polls{pollfd{child.get(), POLLIN, 0}, pollfd{work.output.get(), POLLIN, 0}};
  while (true) {
    const int64_t left_ms = end_ms - NowMs();
    if (left_ms <= 0) return "hang";
    const int rc =
        ::poll(polls.data(), polls.size(), static_cast<int>(std::min<int64_t>(left_ms, 60'000)));
    if (rc < 0 && errno != EINTR) return fmt::format("error wait: {}", std::strerror(errno));
    if (rc <= 0) continue;
    if (polls[1].revents != 0 && !PassOn(work.output, results)) polls[1].fd = -1;
    if (polls[0].revents != 0) break;
  }
  int status = 0;
  ::waitpid(work.pid, &status, 0);
  if (work.output.valid()) {
    ::fcntl(work.output.get(), F_SETFL, O_NONBLOCK);
    pollfd rest{work.output.get(), POLLIN, 0};
    while (::poll(&rest, 1, 0) > 0 && PassOn(work.output, results)) {
    }
  }
  if (!WIFSIGNALED(status)) return fmt::format("exit {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({}){}", WTERMSIG(status), ::strsignal(WTERMSIG(status)),
                     WTERMSIG(status) == SIGKILL && OutOfMemory()
                         ? ": the guest ran out of memory; guest.memory gives it more"
                         : "");
}

// Where the child hangs is on the console then: the kernel's list of blocked tasks.
void ShowBlockedTasks(KernelFs& fs) {
  const std::string& proc = fs.roots().proc;
  static_cast<void>(fs.Write(proc + "/sys/kernel/printk", "7"));
  static_cast<void>(fs.Write(proc + "/sysrq-trigger", "w"));
}

Result<void> Run() {
  KernelFs fs(KernelRoots::Real());
  RETURN_IF_ERROR(MountHere("proc", fs.roots().proc));
  RETURN_IF_ERROR(MountHere("devtmpfs", fs.roots().dev));
  ASSIGN_OR_RETURN(const UniqueFd console,
                   OpenFile(std::string(guest::kConsole), O_WRONLY | O_NOCTTY));
  ASSIGN_OR_RETURN(const UniqueFd null, OpenFile("/dev/null", O_RDONLY));
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(console.get(), STDOUT_FILENO);
  ::dup2(console.get(), STDERR_FILENO);
  Say("init");
  MountAll(fs);
  ASSIGN_OR_RETURN(const Results results, Results::Open());
  ASSIGN_OR_RETURN(const RunConf conf, ReadRunConf());
  ASSIGN_OR_RETURN(Work work, StartWork(fs, conf, results));
  const std::string status = Supervise(work, conf, results);
  if (status != "exit 0") Say(fmt::format("the run ended: {}", status));
  if (status == "hang") ShowBlockedTasks(fs);
  results.Send(kFrameStatus, status);
  results.Send(kFrameEnd, "");
  ::tcdrain(STDOUT_FILENO);
  return {};
}

}  // namespace
}  // namespace blkfair

int main() {
  if (::getpid() != 1) {
    blkfair::Say("this is the init of a guest; it does nothing elsewhere");
    return 2;
  }
  ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
  ::setenv("HOME", "/root", 1);
  if (const blkfair::Result<void> done = blkfair::Run(); !done) blkfair::Say(done.error().message);
  ::sync();
  // QEMU runs with -no-reboot: this ends it, on every kernel, without ACPI.
  ::reboot(RB_AUTOBOOT);
  return 1;
}
