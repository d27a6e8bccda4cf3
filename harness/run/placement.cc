#include "harness/run/placement.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "scenarios/language/job_forms.h"

namespace blkfair {

namespace {

// include/uapi/linux/ioprio.h, which some versions of Debian's linux-libc-dev ship in a form that
// is no C++ (a parameter named "class").
constexpr int kClassShift = 13;
constexpr int kClassNone = 0;
constexpr int kClassRealTime = 1;
constexpr int kClassBestEffort = 2;
constexpr int kClassIdle = 3;
constexpr int kWhoProcess = 1;  // a thread, by its number
constexpr int Ioprio(int number, int level) { return number << kClassShift | level; }

constexpr std::string_view kNoIoprio = "none";
constexpr std::array<std::pair<std::string_view, int>, 2> kClassesWithLevels = {
    {{"rt", kClassRealTime}, {"be", kClassBestEffort}}};

Error NotTaken(std::string_view key, std::string_view asked, std::string_view found) {
  return {ErrorKind::kKernel, 0,
          fmt::format("{} is {} after setting {}: the kernel did not take it", key, found, asked)};
}

std::vector<uint32_t> CpusIn(const cpu_set_t& set) {
  std::vector<uint32_t> cpus;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

std::vector<uint32_t> AllowedCpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  return CpusIn(set);
}

std::string CpuListText(std::span<const uint32_t> cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) last++;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (last > i) text += fmt::format("-{}", cpus[last]);
    i = last + 1;
  }
  return text;
}

Result<void> PinThisThread(std::span<const uint32_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const uint32_t cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return FailErrno(errno, fmt::format("cpus = {}", CpuListText(cpus)));
}

int IoprioFrom(std::string_view name) {
  if (name == kNoIoprio) return Ioprio(kClassNone, 0);
  if (name == "idle") return Ioprio(kClassIdle, 0);
  for (const auto& [kind, number] : kClassesWithLevels) {
    if (name.starts_with(kind)) return Ioprio(number, name.back() - '0');
  }
  CHECK(false && "the key table lists all names");
}

std::string IoprioName(int ioprio) {
  const int number = ioprio >> kClassShift;
  if (number == kClassIdle) return "idle";
  for (const auto& [kind, known] : kClassesWithLevels) {
    // The level is the lowest three bits; those above are hints (6.4).
    if (number == known) return fmt::format("{}/{}", kind, ioprio & 7);
  }
  return std::string(kNoIoprio);
}

Result<void> PlaceThisThread(const JobSpec& job) {
  if (!job.cpus.empty()) RETURN_IF_ERROR(PinThisThread(job.cpus));
  const auto thread = static_cast<id_t>(::gettid());
  if (job.nice != 0 && ::setpriority(PRIO_PROCESS, thread, job.nice) != 0) {
    return FailErrno(errno, fmt::format("set nice = {}", job.nice));
  }
  if (job.ioprio != kNoIoprio &&
      ::syscall(SYS_ioprio_set, kWhoProcess, thread, IoprioFrom(job.ioprio)) != 0) {
    return FailErrno(errno, fmt::format("set ioprio = \"{}\"", job.ioprio));
  }
  return {};
}

Result<Placement> ReadPlacement(const JobSpec& job) {
  const auto thread = static_cast<id_t>(::gettid());
  Placement placement;
  if (::sched_getaffinity(0, sizeof placement.cpus, &placement.cpus) != 0)
    CPU_ZERO(&placement.cpus);
  placement.nice = ::getpriority(PRIO_PROCESS, thread);
  placement.ioprio = static_cast<int>(::syscall(SYS_ioprio_get, kWhoProcess, thread));
  JobRecord found;
  NotePlacement(placement, &found);
  std::vector<uint32_t> cpus = job.cpus;
  std::sort(cpus.begin(), cpus.end());
  if (!cpus.empty() && found.cpus != CpuListText(cpus)) {
    return Fail(NotTaken("cpus", CpuListText(cpus), found.cpus));
  }
  if (job.nice != 0 && found.nice != job.nice) {
    return Fail(NotTaken("nice", std::to_string(job.nice), std::to_string(found.nice)));
  }
  if (job.ioprio != kNoIoprio && found.ioprio != job.ioprio) {
    return Fail(NotTaken("ioprio", job.ioprio, found.ioprio));
  }
  return placement;
}

void NotePlacement(const Placement& placement, JobRecord* record) {
  record->cpus = CpuListText(CpusIn(placement.cpus));
  record->nice = placement.nice;
  record->ioprio = placement.ioprio < 0 ? "" : IoprioName(placement.ioprio);
}

Result<void> CheckGuestCpus(const Scenario& scenario) {
  for (const JobSpec* job : JobForms(scenario)) {
    if (job->cpus.empty()) continue;
    const uint32_t cpu = *std::max_element(job->cpus.begin(), job->cpus.end());
    if (cpu < scenario.guest.vcpus) continue;
    return Fail(ErrorKind::kUsage,
                fmt::format("job {} names CPU {}, and the guest has {} of them, from 0 on: name "
                            "others in cpus, or set vcpus = {} in [guest]",
                            job->name, cpu, scenario.guest.vcpus, cpu + 1));
  }
  return {};
}

Result<void> CheckCpus(const JobSpec& job) {
  const std::vector<uint32_t> allowed = AllowedCpus();
  for (const uint32_t cpu : job.cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end()) continue;
    return Fail(ErrorKind::kUsage,
                fmt::format("job {} names CPU {}, and blkfair may use {} here: name others in cpus",
                            job.name, cpu, CpuListText(allowed)));
  }
  return {};
}

}  // namespace blkfair
