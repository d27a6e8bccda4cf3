#include "harness/measure/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace blkfair {

namespace {

// The value of "key : value" or "key: value" in a /proc text; empty when absent.
std::string FieldOf(std::string_view text, std::string_view key) {
  size_t at = text.starts_with(key) ? 0 : text.find("\n" + std::string(key));
  if (at == std::string_view::npos) return {};
  at = text.find(':', at);
  if (at == std::string_view::npos) return {};
  const size_t begin = text.find_first_not_of(" \t", at + 1);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

}  // namespace

void ReadEnvironment(const KernelFs& fs, EnvironmentRecord* environment) {
  utsname name{};
  if (::uname(&name) == 0) {
    environment->kernel_release = name.release;
    environment->kernel_version = name.version;
  }
  const KernelRoots& roots = fs.roots();
  if (auto line = fs.ReadLine(roots.proc + "/cmdline")) environment->kernel_command_line = *line;
  if (auto text = fs.Read(roots.proc + "/cpuinfo")) {
    environment->cpu_model = FieldOf(*text, "model name");
  }
  if (auto text = fs.Read(roots.proc + "/meminfo")) {
    // "MemTotal:        1018068 kB"
    const std::string total = FieldOf(*text, "MemTotal");
    if (!total.empty()) {
      environment->memory_bytes = std::strtoull(total.c_str(), nullptr, 10) * 1024;
    }
  }
  const std::string cpu = roots.sys + "/devices/system/cpu/";
  // Read-only by another name before 5.9, unless the kernel was told to let it be switched.
  for (const char* governor : {"cpuidle/current_governor", "cpuidle/current_governor_ro"}) {
    auto line = fs.ReadLine(cpu + governor);
    if (line && *line != "none") environment->cpu_idle = *line;
  }
  if (auto governor = fs.ReadLine(cpu + "cpu0/cpufreq/scaling_governor")) {
    environment->cpu_frequency = *governor;
    if (auto driver = fs.ReadLine(cpu + "cpu0/cpufreq/scaling_driver")) {
      environment->cpu_frequency += " (" + *driver + ")";
    }
  }
  const std::string clocksource =
      roots.sys + "/devices/system/clocksource/clocksource0/current_clocksource";
  if (auto line = fs.ReadLine(clocksource)) environment->clocksource = *line;
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  environment->cpus = cpus > 0 ? static_cast<uint32_t>(cpus) : 0;
}

}  // namespace blkfair
