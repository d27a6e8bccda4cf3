#include "harness/guest/qemu.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/kvm.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <sstream>

#include "base/kernel_fs.h"

namespace blkfair {
namespace {

constexpr const char* kQemu = "qemu-system-x86_64";
constexpr int kKvmApiVersion = 12;  // the only one there has been since 2.6.22

// A comma in a QEMU option's value is doubled.
std::string Escaped(const std::string& value) {
  std::string escaped;
  for (const char c : value) escaped.append(c == ',' ? 2 : 1, c);
  return escaped;
}

// One of the CPUs that this process may use. Runs side by side get different ones, mostly.
Result<int> ChooseHostCpu() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return FailErrno(errno, "ask which CPUs may be used");
  }
  // By thread, so that guests that one process runs side by side are spread over the CPUs.
  int skip = static_cast<int>(::gettid() % CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && skip-- == 0) return cpu;
  }
  return 0;
}

std::string KernelCommandLine(const QemuSpec& spec) {
  // panic=-1 and oops=panic: a broken guest ends at once instead of waiting for its time limit.
  std::vector<std::string> words{"console=ttyS0", "quiet", "panic=-1", "oops=panic",
                                 "mitigations=off"};
  if (spec.time == GuestTime::kVirtual) {
    words.insert(words.end(), {"nokaslr", "tsc=reliable"});
  }
  words.insert(words.end(), spec.boot_words.begin(), spec.boot_words.end());
  return fmt::format("{}", fmt::join(words, " "));
}

// shift=3: 8 ns of guest time an instruction. sleep=off: idle time is skipped. rr=record, for its
// lock and not for its log: it keeps QEMU's main loop from skipping idle time while the CPU's
// thread has halted but not yet accounted for its last instructions. (So we read
// icount_start_warp_timer and rr_cpu_thread_fn; the cause is not proven. Seen with QEMU 7.2 on a
// busy host, pinned: of runs with the same input 5 of 50 differed without it; with it none of 36,
// 20 of them not even pinned, for the same processor time.) Not with devices of QEMU's own: their
// I/O never completes then (nvme on null-co, 7.2), and would not repeat anyway. Nor with several
// CPUs, for which QEMU has no recording.
std::string InstructionCounting(const QemuSpec& spec) {
  std::string options = "shift=3,sleep=off";
  if (spec.device_arguments.empty() && spec.shape.vcpus == 1)
    options += ",rr=record,rrfile=/dev/null";
  return options;
}

}  // namespace

std::vector<std::string> QemuArguments(const QemuSpec& spec) {
  std::vector<std::string> argv{kQemu,
                                "-M",
                                "pc",
                                "-nodefaults",
                                "-no-user-config",
                                "-no-reboot",
                                "-display",
                                "none",
                                "-smp",
                                fmt::format("{}", spec.shape.vcpus),
                                "-m",
                                fmt::format("{}", spec.shape.memory_bytes >> 20),
                                "-cpu",
                                spec.kvm ? "host" : "max"};
  if (spec.time == GuestTime::kVirtual) {
    argv.insert(argv.end(), {"-accel", "tcg,thread=single", "-icount", InstructionCounting(spec),
                             "-rtc", "base=2024-01-01,clock=vm", "-seed", "1"});
  } else {
    argv.insert(argv.end(), {"-accel", spec.kvm ? "kvm" : "tcg"});
  }
  argv.insert(argv.end(), spec.device_arguments.begin(), spec.device_arguments.end());
  // Serial ports go to files: QEMU writes them on the guest CPU's own thread, so the host never
  // makes an interrupt at a moment of its choosing.
  argv.insert(argv.end(), {"-serial", "file:" + Escaped(spec.console_file), "-serial",
                           "file:" + Escaped(spec.results_file), "-kernel", spec.kernel_image,
                           "-initrd", spec.initrd, "-append", KernelCommandLine(spec)});
  return argv;
}

Result<std::string> QemuVersion() {
  ASSIGN_OR_RETURN(const std::string text,
                   RunProgram({kQemu, "--version"}, "ask QEMU for its version"));
  return text.substr(0, text.find('\n'));
}

Result<ChildProcess> StartQemu(const QemuSpec& spec,
                               std::function<Result<void>(pid_t)> before_exec) {
  ASSIGN_OR_RETURN(const UniqueFd errors, OpenFile(spec.stderr_file, O_WRONLY | O_CREAT | O_TRUNC));
  SpawnOptions options;
  options.argv = QemuArguments(spec);
  options.stdout_fd = errors.get();
  options.stderr_fd = errors.get();
  options.own_group = true;
  options.before_exec = std::move(before_exec);
  // With devices too: QEMU's NVMe controller reads a shadow doorbell that the guest's CPU writes,
  // with no barrier after its own write (hw/nvme/ctrl.c, nvme_process_sq; seen on 7.2: all requests
  // of a full queue were lost). On one CPU the two threads cannot pass each other.
  if (spec.time == GuestTime::kVirtual || !spec.device_arguments.empty()) {
    ASSIGN_OR_RETURN(options.host_cpu, ChooseHostCpu());
  }
  return ChildProcess::Spawn(options);
}

bool CpuVirtualises(std::string_view cpuinfo) {
  constexpr std::string_view kKey = "flags";
  std::istringstream lines{std::string(cpuinfo)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kKey)) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "vmx" || word == "svm") return true;
    }
  }
  return false;
}

bool KvmWorks() {
  const Result<std::string> cpuinfo = ReadWholeFile(KernelRoots::Real().proc + "/cpuinfo");
  if (!cpuinfo || !CpuVirtualises(*cpuinfo)) return false;
  const Result<UniqueFd> kvm = OpenFile("/dev/kvm", O_RDWR);
  return kvm && ::ioctl(kvm->get(), KVM_GET_API_VERSION, 0) == kKvmApiVersion;
}

}  // namespace blkfair
