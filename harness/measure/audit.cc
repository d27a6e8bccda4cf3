#include "harness/measure/audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "harness/measure/cpu_ticks.h"
#include "scenarios/language/job_forms.h"

namespace blkfair {

namespace {

constexpr double kBusyWorthAWarning = 0.1;   // of all CPUs, by others
constexpr double kFreeWorthAWarning = 0.1;   // of memory, still available
constexpr double kStalledWorthAWarning = 1;  // percent of the last 10 s
constexpr auto kLoadWindow = std::chrono::milliseconds(200);

struct DebugFeature {
  std::string_view name;
  std::string_view option;  // of the kernel's configuration
  std::string_view does;
};
constexpr std::array kDebugFeatures = {
    DebugFeature{"kasan", "CONFIG_KASAN", "checks every memory access (KASAN)"},
    DebugFeature{"kcsan", "CONFIG_KCSAN", "looks for data races (KCSAN)"},
    DebugFeature{"lockdep", "CONFIG_LOCKDEP", "checks the order of its locks (lockdep)"},
};

void Set(std::string_view name, std::string value, std::string warning, Audit* audit) {
  AuditFinding finding{std::string(name), std::move(value), std::move(warning)};
  const auto it = std::find_if(audit->begin(), audit->end(),
                               [&](const AuditFinding& row) { return row.name == name; });
  if (it == audit->end()) {
    audit->push_back(std::move(finding));
  } else {
    *it = std::move(finding);
  }
}

void SetFeature(const DebugFeature& feature, bool on, Audit* audit) {
  Set(feature.name, on ? "on" : "off",
      on ? fmt::format("this kernel {}: its figures are not those of a kernel that is shipped",
                       feature.does)
         : std::string(),
      audit);
}

std::string Unpacked(std::string_view packed) {
  z_stream stream{};
  constexpr int kGzip = 16;  // zlib: a gzip header is expected
  if (::inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) return {};
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 65536> chunk;
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    code = ::inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  return code == Z_STREAM_END ? text : std::string();
}

// Of the running kernel; empty when it is nowhere to be read.
std::string RunningConfig(const KernelFs& fs) {
  if (auto packed = fs.Read(fs.roots().proc + "/config.gz")) return Unpacked(*packed);
  utsname name{};
  if (::uname(&name) != 0) return {};
  for (const std::string& path : {fmt::format("{}/{}/config", fs.roots().modules, name.release),
                                  fmt::format("/boot/config-{}", name.release)}) {
    if (auto text = fs.Read(path)) return *text;
  }
  return {};
}

// kernel/locking/lockdep_proc.c, kernel/kcsan/debugfs.c and mm/kasan make these (read in 6.12).
bool ShowsSigns(const KernelFs& fs, std::string_view log, std::string_view feature) {
  if (feature == "lockdep") return fs.Exists(fs.roots().proc + "/lockdep_stats");
  if (feature == "kcsan") return fs.Exists(fs.roots().debugfs + "/kcsan");
  return log.find("KernelAddressSanitizer initialized") != std::string_view::npos;
}

void AuditMitigations(const KernelFs& fs, bool real_time, Audit* audit) {
  const std::string folder = fs.roots().sys + "/devices/system/cpu/vulnerabilities";
  const auto names = fs.List(folder);
  if (!names) return;
  std::vector<std::string> open;
  for (const std::string& name : *names) {
    const auto text = fs.ReadLine(folder + "/" + name);
    if (text && text->starts_with("Vulnerable")) open.push_back(name);
  }
  if (open.empty()) return Set("mitigations", "on", {}, audit);
  const std::string list = fmt::format("{}", fmt::join(open, ", "));
  Set("mitigations", "off: " + list,
      real_time ? fmt::format("mitigations are off ({}): system calls cost less than where they "
                              "are on",
                              list)
                : std::string(),
      audit);
}

void AuditLoad(const KernelFs& fs, bool real_time, Audit* audit) {
  const auto before = ReadCpuTicks(fs);
  std::this_thread::sleep_for(kLoadWindow);
  const auto after = ReadCpuTicks(fs);
  if (!before || !after || after->all <= before->all) return;
  const double busy = 1 - static_cast<double>(after->idle - before->idle) /
                              static_cast<double>(after->all - before->all);
  const std::string value = fmt::format("{:.0f} % of the CPUs busy", busy * 100);
  Set("load", value,
      real_time && busy > kBusyWorthAWarning
          ? fmt::format("other work keeps this machine busy ({}): it shares the CPUs with the jobs",
                        value)
          : std::string(),
      audit);
}

// "MemAvailable:  123 kB" -> 123.
std::optional<double> FieldOf(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_of("0123456789", at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

void AuditGovernors(const KernelFs& fs, bool real_time, Audit* audit) {
  const std::string folder = fs.roots().sys + "/devices/system/cpu";
  std::set<std::string> governors;
  for (const std::string& name : fs.List(folder).value_or(std::vector<std::string>())) {
    if (auto text = fs.ReadLine(folder + "/" + name + "/cpufreq/scaling_governor")) {
      governors.insert(*text);
    }
  }
  if (governors.empty()) return;  // the machine leaves its clock rate to nobody here
  const std::string value = fmt::format("{}", fmt::join(governors, ", "));
  Set("governor", value,
      real_time && value != "performance"
          ? fmt::format("the CPU frequency governor is {}: the clock rate follows the load, and "
                        "latencies with it",
                        value)
          : std::string(),
      audit);
}

// The values of one attribute over the queues of a fixture, each once, in their order.
std::string ValuesOf(const FixtureRecord& fixture, std::string_view attribute) {
  std::vector<std::string> values;
  for (const auto& [name, value] : fixture.settings) {
    if (!name.starts_with(fixture.name + ":")) continue;
    if (std::string_view(name).substr(name.rfind(' ') + 1) != attribute) continue;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

bool HasBufferedWrites(const Scenario& scenario, const std::string& fixture) {
  const std::vector<const JobSpec*> forms = JobForms(scenario);
  return std::any_of(forms.begin(), forms.end(), [&](const JobSpec* job) {
    return job->queue.fixture == fixture && Writes(job->rw) && !job->direct;
  });
}

}  // namespace

void AuditKernel(const KernelFs& fs, std::string_view log, bool real_time, Audit* audit) {
  const std::string config = RunningConfig(fs);
  if (!config.empty()) {
    AuditConfig(config, audit);
  } else {
    for (const DebugFeature& feature : kDebugFeatures) {
      SetFeature(feature, ShowsSigns(fs, log, feature.name), audit);
    }
  }
  AuditMitigations(fs, real_time, audit);
}

void AuditConfig(std::string_view config, Audit* audit) {
  for (const DebugFeature& feature : kDebugFeatures) {
    const std::string line = fmt::format("{}=y", feature.option);
    const bool on = config.starts_with(line + "\n") ||
                    config.find("\n" + line + "\n") != std::string_view::npos;
    SetFeature(feature, on, audit);
  }
}

void AuditMachine(const KernelFs& fs, bool real_time, Audit* audit) {
  AuditGovernors(fs, real_time, audit);
  AuditLoad(fs, real_time, audit);
  AuditMemory(fs, audit);
}

void AuditMemory(const KernelFs& fs, Audit* audit) {
  const std::string info = fs.Read(fs.roots().proc + "/meminfo").value_or(std::string());
  const auto total = FieldOf(info, "MemTotal");
  const auto available = FieldOf(info, "MemAvailable");
  if (!total || !available || *total <= 0) return;
  std::vector<std::string> trouble;
  if (*available < kFreeWorthAWarning * *total) {
    trouble.push_back(fmt::format("{:.0f} % of it available", 100 * *available / *total));
  }
  // "some avg10=0.00 avg60=...": where the kernel counts it (Documentation/accounting/psi.rst).
  const std::string pressure =
      fs.Read(fs.roots().proc + "/pressure/memory").value_or(std::string());
  const auto stalled = FieldOf(pressure, "some avg10=");
  if (stalled && *stalled > kStalledWorthAWarning) {
    trouble.push_back(fmt::format("tasks waited for it {:.0f} % of the last 10 s", *stalled));
  }
  if (trouble.empty()) return Set("memory", "enough", {}, audit);
  const std::string value = fmt::format("short: {}", fmt::join(trouble, ", "));
  Set("memory", value, fmt::format("memory is {}: reclaim may do I/O of its own", value), audit);
}

void AuditFixture(const Scenario& scenario, const FixtureRecord& fixture, Audit* audit) {
  const auto name = [&](std::string_view key) { return fmt::format("{}.{}", fixture.name, key); };
  if (const std::string scheduler = ValuesOf(fixture, "scheduler"); !scheduler.empty()) {
    const FixtureSpec* spec = scenario.FindFixture(fixture.name);
    const bool chosen = spec != nullptr && spec->params.Has("scheduler");
    Set(name("scheduler"), scheduler,
        chosen ? std::string()
               : fmt::format("the scheduler of {} is this kernel's default ({}): others have "
                             "other defaults; name one in the fixture",
                             fixture.name, scheduler),
        audit);
  }
  if (const std::string wbt = ValuesOf(fixture, "wbt_lat_usec"); !wbt.empty()) {
    const bool holds_back = wbt != "0" && HasBufferedWrites(scenario, fixture.name);
    Set(name("wbt_lat_usec"), wbt,
        holds_back ? fmt::format("write-back throttling (wbt_lat_usec {}) holds buffered writes to "
                                 "{} back: not the tags alone limit them",
                                 wbt, fixture.name)
                   : std::string(),
        audit);
  }
  if (const std::string iostats = ValuesOf(fixture, "iostats"); !iostats.empty()) {
    Set(name("iostats"), iostats, {}, audit);
  }
}

std::string ReadKernelLog() {
  constexpr int kReadAll = 3;  // syslog(2)
  constexpr int kSize = 10;
  const int size = ::klogctl(kSize, nullptr, 0);
  if (size <= 0) return {};
  std::string log(static_cast<size_t>(size), '\0');
  const int length = ::klogctl(kReadAll, log.data(), size);
  log.resize(static_cast<size_t>(std::max(0, length)));
  return log;
}

}  // namespace blkfair
