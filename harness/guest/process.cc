#include "harness/guest/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/fd.h"

namespace blkfair {
namespace {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return FailErrno(errno, "make a pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& a : added) replaced |= a.starts_with(name);
    if (!replaced) all.emplace_back(text);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

// Everything the child needs, made before fork: after it only async-signal-safe calls are allowed,
// since other threads of ours may hold locks.
struct ChildPlan {
  char* const* argv;
  char* const* environment;
  int null_fd;
  int stdout_fd;
  int stderr_fd;
  int failure_fd;
  int go_fd;  // one byte: execute; end of file: do not
  pid_t parent;
  bool own_group;
  const cpu_set_t* cpus;
};

[[noreturn]] void RunChild(const ChildPlan& plan) {
  const auto fail = [&plan] {
    const int why = errno;
    [[maybe_unused]] const ssize_t n = ::write(plan.failure_fd, &why, sizeof why);
    ::_exit(127);
  };
  if (plan.own_group && ::setpgid(0, 0) != 0) fail();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  // The parent may have died before the line above; then nobody will ever signal us.
  if (::getppid() != plan.parent) ::_exit(127);
  char go = 0;
  ssize_t got = 0;
  do {
    got = ::read(plan.go_fd, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);
  if (plan.cpus != nullptr && ::sched_setaffinity(0, sizeof *plan.cpus, plan.cpus) != 0) fail();
  if (::dup2(plan.null_fd, STDIN_FILENO) < 0 || ::dup2(plan.stdout_fd, STDOUT_FILENO) < 0 ||
      ::dup2(plan.stderr_fd, STDERR_FILENO) < 0) {
    fail();
  }
  // Descriptors that libraries of ours opened without O_CLOEXEC; harmless where it is unknown.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.argv[0], plan.argv, plan.environment);
  fail();
  ::_exit(127);
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const size_t start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

constexpr int kStopPollMs = 50;
constexpr std::chrono::seconds kDyingTime{1};

// Reads both pipes until both are closed, or until `stop` says so: false then.
Result<bool> Drain(Pipe& out, std::string& out_text, Pipe& err, std::string& err_text,
                   const std::function<bool()>& stop) {
  std::array<pollfd, 2> polls{pollfd{out.reader.get(), POLLIN, 0},
                              pollfd{err.reader.get(), POLLIN, 0}};
  const std::array<std::string*, 2> texts{&out_text, &err_text};
  std::array<char, 16384> chunk;
  while (polls[0].fd >= 0 || polls[1].fd >= 0) {
    if (stop && stop()) return false;
    if (::poll(polls.data(), polls.size(), stop ? kStopPollMs : -1) < 0) {
      if (errno == EINTR) continue;
      return FailErrno(errno, "wait for a program's output");
    }
    for (size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].fd < 0 || polls[i].revents == 0) continue;
      const ssize_t n = ::read(polls[i].fd, chunk.data(), chunk.size());
      if (n > 0) {
        texts[i]->append(chunk.data(), static_cast<size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        polls[i].fd = -1;
      }
    }
  }
  return true;
}

}  // namespace

Result<std::string> FindExecutable(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string folders = fmt::format("{}:/usr/sbin:/sbin", path == nullptr ? "/usr/bin:/bin" : path);
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    const std::string candidate = folders.substr(at, end - at) + "/" + name;
    if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return Fail(ErrorKind::kUnmet,
              fmt::format("find the program {}: it is not installed, or not in PATH", name));
}

Result<ChildProcess> ChildProcess::Spawn(const SpawnOptions& options) {
  CHECK(!options.argv.empty());
  std::vector<std::string> argv = options.argv;
  ASSIGN_OR_RETURN(argv[0], FindExecutable(options.argv[0]));
  std::vector<std::string> environment = EnvironmentWith(options.environment);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> environment_pointers = Pointers(environment);
  ASSIGN_OR_RETURN(const UniqueFd null_fd, OpenFile("/dev/null", O_RDWR));
  ASSIGN_OR_RETURN(Pipe failure, MakePipe());
  ASSIGN_OR_RETURN(Pipe go, MakePipe());

  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (options.host_cpu) CPU_SET(*options.host_cpu, &cpus);
  const ChildPlan plan{argv_pointers.data(),
                       environment_pointers.data(),
                       null_fd.get(),
                       options.stdout_fd >= 0 ? options.stdout_fd : null_fd.get(),
                       options.stderr_fd >= 0 ? options.stderr_fd : null_fd.get(),
                       failure.writer.get(),
                       go.reader.get(),
                       ::getpid(),
                       options.own_group,
                       options.host_cpu ? &cpus : nullptr};
  const pid_t pid = ::fork();
  if (pid < 0) return FailErrno(errno, fmt::format("start {}", argv[0]));
  if (pid == 0) {
    go.writer.Reset();
    RunChild(plan);
  }

  ChildProcess child(pid, options.own_group);
  failure.writer.Reset();
  if (options.before_exec) RETURN_IF_ERROR(options.before_exec(pid));
  RETURN_IF_ERROR(WriteAll(go.writer.get(), "g", "the child's starting signal"));
  int why = 0;
  ssize_t n = 0;
  do {
    n = ::read(failure.reader.get(), &why, sizeof why);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof why) return FailErrno(why, fmt::format("start {}", argv[0]));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), own_group_(other.own_group_), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    own_group_ = other.own_group_;
    status_ = other.status_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { Kill(); }

std::optional<int> ChildProcess::Wait(int timeout_ms) {
  constexpr int kStepMs = 20;
  while (pid_ >= 0 && !status_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status;
    } else if (timeout_ms > 0) {
      const int step_ms = std::min(timeout_ms, kStepMs);
      const timespec pause{0, step_ms * 1'000'000L};
      ::nanosleep(&pause, nullptr);
      timeout_ms -= step_ms;
    } else {
      return std::nullopt;
    }
  }
  return status_;
}

void ChildProcess::Kill() {
  if (pid_ < 0 || status_) return;
  ::kill(pid_, SIGKILL);  // before it executes it may not lead a group yet
  if (own_group_) ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

int64_t ChildProcess::CpuTimeNs() const {
  clockid_t clock = 0;
  timespec now{};
  if (pid_ < 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &now) != 0) {
    return 0;
  }
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::string DescribeWaitStatus(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

Result<std::string> RunProgram(const std::vector<std::string>& argv, const std::string& what,
                               const std::function<bool()>& interrupted) {
  ASSIGN_OR_RETURN(Pipe out, MakePipe());
  ASSIGN_OR_RETURN(Pipe err, MakePipe());
  SpawnOptions options;
  options.argv = argv;
  options.environment = {"LC_ALL=C"};
  options.stdout_fd = out.writer.get();
  options.stderr_fd = err.writer.get();
  options.own_group = interrupted != nullptr;
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  out.writer.Reset();
  err.writer.Reset();
  std::string out_text;
  std::string err_text;
  ASSIGN_OR_RETURN(bool whole, Drain(out, out_text, err, err_text, interrupted));
  std::optional<int> status;
  while (whole && !(status = child.Wait(kStopPollMs))) whole = !interrupted || !interrupted();
  if (!whole) {
    child.Kill();
    // Its children die at their own pace: whoever removes their files waits for the last of them.
    const auto limit = std::chrono::steady_clock::now() + kDyingTime;
    RETURN_IF_ERROR(Drain(out, out_text, err, err_text,
                          [limit] { return std::chrono::steady_clock::now() > limit; }));
    return Fail(ErrorKind::kInterrupted, fmt::format("{}: interrupted", what));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return out_text;
  if (WIFSIGNALED(*status) && (WTERMSIG(*status) == SIGINT || WTERMSIG(*status) == SIGTERM)) {
    return Fail(ErrorKind::kInterrupted, fmt::format("{}: interrupted", what));
  }
  std::string why = LastLine(err_text);
  if (why.empty()) why = LastLine(out_text);
  if (why.empty()) why = DescribeWaitStatus(*status);
  return Fail(ErrorKind::kKernel, fmt::format("{}: {}", what, why));
}

}  // namespace blkfair
