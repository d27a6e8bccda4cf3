// Child processes of the guest executor: QEMU, apt, depmod, the dynamic loader. A ChildProcess dies
// with its owner, and with the whole of blkfair even when that is killed. One thread owns it: the
// kernel ties the child's life to the thread that spawned it (PR_SET_PDEATHSIG, prctl(2)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace blkfair {

struct SpawnOptions {
  std::vector<std::string> argv = {};         // argv[0]: a path, or a name for FindExecutable
  std::vector<std::string> environment = {};  // "NAME=value", added to ours
  int stdout_fd = -1;                         // borrowed; -1: /dev/null
  int stderr_fd = -1;
  bool own_group = false;            // out of reach of the terminal's ^C
  std::optional<int> host_cpu = {};  // run on this CPU only
  // Called while the child exists and waits to execute; on an error it never does.
  std::function<Result<void>(pid_t)> before_exec = {};
};

// Full path of a program: PATH first, then the sbin folders that a user's PATH leaves out. kUnmet
// when there is none.
Result<std::string> FindExecutable(const std::string& name);

class ChildProcess {
 public:
  static Result<ChildProcess> Spawn(const SpawnOptions& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // Kill()

  pid_t pid() const { return pid_; }
  // The wait status (waitpid(2)) once it has ended; empty while it runs. Waits at most
  // `timeout_ms`.
  std::optional<int> Wait(int timeout_ms);
  // SIGKILL, and gone when this returns; with it, sooner or later, all of a group of its own.
  void Kill();
  // Processor time used so far, by all threads; 0 when it cannot be told.
  int64_t CpuTimeNs() const;

 private:
  ChildProcess(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}

  pid_t pid_ = -1;
  bool own_group_ = false;
  std::optional<int> status_;
};

// "exit status 3", "signal 9 (Killed)".
std::string DescribeWaitStatus(int status);

// Runs a program to its end and returns its standard output. When it fails, the error is `what`
// with the last line of its standard error; kInterrupted when ^C ended it. `interrupted` is polled:
// once it says so, the program and all that it started are killed, and the error is kInterrupted.
Result<std::string> RunProgram(const std::vector<std::string>& argv, const std::string& what,
                               const std::function<bool()>& interrupted = {});

}  // namespace blkfair
