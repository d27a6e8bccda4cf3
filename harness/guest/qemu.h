// One QEMU: its command line, and the running process. The recipe for time that repeats (one vCPU,
// icount, one host CPU, nothing from outside) is in QemuArguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "harness/guest/guest.h"
#include "harness/guest/process.h"

namespace blkfair {

struct QemuSpec {
  std::string kernel_image;
  std::string initrd;
  std::vector<std::string> boot_words;        // added to the kernel's command line
  std::vector<std::string> device_arguments;  // added as they are
  GuestTime time = GuestTime::kVirtual;
  bool kvm = false;  // real time only
  GuestSpec shape;
  std::string console_file;  // first serial port
  std::string results_file;  // second serial port
  std::string stderr_file;   // what QEMU itself says
};

// argv, with the program as "qemu-system-x86_64".
std::vector<std::string> QemuArguments(const QemuSpec& spec);

// First line of `qemu-system-x86_64 --version`; kUnmet when it is not installed.
Result<std::string> QemuVersion();

// Whether /proc/cpuinfo tells of VT-x or AMD-V. Without, a /dev/kvm may be there all the same
// (seen: kvm-pvm in a cloud's guest) and yet interpret a stock kernel's every instruction: no boot
// came to its first console line within a minute.
bool CpuVirtualises(std::string_view cpuinfo);

// Starts it: standard input from /dev/null, a process group of its own, killed with us; under
// virtual time, or with devices of its own, on one host CPU. `before_exec` as in SpawnOptions; may
// be null.
Result<ChildProcess> StartQemu(const QemuSpec& spec,
                               std::function<Result<void>(pid_t)> before_exec);

}  // namespace blkfair
