#include "harness/guest/guest.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/check.h"
#include "base/fd.h"
#include "base/kernel_fs.h"
#include "base/sha256.h"
#include "harness/guest/boot.h"
#include "harness/guest/command.h"
#include "harness/guest/config_check.h"
#include "harness/guest/image.h"
#include "harness/guest/layout.h"
#include "harness/guest/qemu.h"
#include "harness/run/version.h"
#include "kmod_setup/fixture_table.h"
#include "results/record_json.h"
#include "scenarios/language/canonical.h"

namespace blkfair {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// What the guest carries beyond the fixtures' modules: init mounts configfs.
constexpr const char* kModulesAlways[] = {"configfs"};

// On the guest's clock, which does not care how slow the host is.
int64_t GuestLimitNs(int64_t length_ns) {
  return guest::kBootWorkLimitNs + 120 * kSecondNs + 3 * length_ns;
}
// QEMU's processor time. A busy guest takes one to two seconds for each of its own under virtual
// time; the rest is for slow hosts.
int64_t HostLimitNs(int64_t guest_limit_ns) { return 60 * kSecondNs + 4 * guest_limit_ns; }

std::string RunConf(const GuestOptions& options, int64_t limit_ns) {
  return fmt::format("time={}\nlimit_ns={}\nrepeat={}\n",
                     options.time == GuestTime::kVirtual ? "virtual" : "real", limit_ns,
                     options.repeat);
}

// What the scenario's fixtures want of the image, of the kernel's command line and of QEMU.
struct FixtureNeeds {
  std::vector<std::string> modules{std::begin(kModulesAlways), std::end(kModulesAlways)};
  std::vector<std::string> boot_words;
  std::vector<std::string> qemu_arguments;
};

FixtureNeeds NeedsOf(const Scenario& scenario) {
  FixtureNeeds needs;
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (std::find(to.begin(), to.end(), word) == to.end()) to.push_back(word);
    }
  };
  for (const FixtureSpec& spec : scenario.fixtures) {
    const FixtureInfo* info = FindFixture(spec.kind);
    CHECK(info != nullptr);  // the reader checked it
    if (info->modules != nullptr) add(needs.modules, info->modules(spec.params));
    if (info->boot_parameters != nullptr) add(needs.boot_words, info->boot_parameters(spec.params));
    if (info->qemu_arguments == nullptr) continue;
    const std::vector<std::string> devices = info->qemu_arguments(spec.name, spec.params);
    needs.qemu_arguments.insert(needs.qemu_arguments.end(), devices.begin(), devices.end());
  }
  return needs;
}

BootOptions MakeBootOptions(const GuestOptions& options, const GuestSpec& shape,
                            int64_t guest_limit_ns) {
  BootOptions boot;
  boot.kernel = options.kernel;
  boot.time = options.time;
  boot.shape = shape;
  boot.initrd = options.work_folder + "/initrd.img";
  boot.work_folder = options.work_folder;
  boot.console_file = options.console_file;
  boot.journal = options.journal;
  boot.limit_ns = HostLimitNs(guest_limit_ns);
  boot.interrupted = options.interrupted;
  boot.progress = options.progress;
  return boot;
}

ImageSpec MakeImageSpec(const GuestOptions& options, std::vector<std::string> modules,
                        int64_t guest_limit_ns) {
  ImageSpec image;
  image.init_executable = options.init_executable;
  image.modules_root = options.kernel.modules_root;
  image.release = options.kernel.release;
  image.modules = std::move(modules);
  image.texts = {{std::string(guest::kRunPath), RunConf(options, guest_limit_ns)}};
  return image;
}

std::string DescribeMachine() {
  utsname name{};
  ::uname(&name);
  std::string model = "unknown CPU";
  if (const auto text = ReadWholeFile(KernelRoots::Real().proc + "/cpuinfo")) {
    const size_t at = text->find("model name\t: ");
    if (at != std::string::npos) model = text->substr(at + 13, text->find('\n', at) - at - 13);
  }
  return fmt::format("{}, {}, {} CPUs", name.machine, model, std::thread::hardware_concurrency());
}

HostRecord DescribeHost(const GuestOptions& options) {
  HostRecord host;
  host.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  host.kernel = options.kernel.asked;
  host.kernel_file = options.kernel.image;
  host.kernel_origin = options.kernel.origin;
  host.machine = DescribeMachine();
  if (const auto version = QemuVersion()) host.qemu_version = *version;
  host.work_folder = options.work_folder;
  host.audit = AuditThisMachine(options.time == GuestTime::kReal);
  return host;
}

// What the guest cannot know of itself.
void AuditFromOutside(const GuestOptions& options, EnvironmentRecord* environment) {
  if (!options.kernel.config_file.empty()) {
    if (const auto config = ReadWholeFile(options.kernel.config_file)) {
      AuditByConfig(*config, &environment->audit);
    }
  }
  const bool real_time = options.time == GuestTime::kReal;
  AuditFinding accelerator{"accelerator", "TCG, instructions counted", {}};
  if (real_time && KvmWorks()) {
    accelerator.value = "KVM";
  } else if (real_time) {
    accelerator.value = "TCG";
    accelerator.warning =
        "the guest's CPU is emulated (TCG) and its time is real: latencies are the emulator's";
  }
  environment->audit.push_back(std::move(accelerator));
}

// How every record begins: nobody said otherwise.
Record BlankRecord(const Scenario& scenario, const std::string& canonical_toml,
                   const GuestOptions& options) {
  Record record;
  record.tool_version = kVersion;
  record.scenario_name = scenario.name;
  record.scenario_hash = ScenarioHash(canonical_toml);
  record.scenario_toml = canonical_toml;
  record.seed = scenario.seed;
  record.repeat = options.repeat;
  record.environment.executor = "guest";
  record.environment.time = options.time == GuestTime::kVirtual ? "virtual" : "real";
  record.environment.kernel_release = options.kernel.release;
  return record;
}

std::string ConfigOf(const Kernel& kernel) {
  return kernel.config_file.empty() ? std::string()
                                    : ReadWholeFile(kernel.config_file).value_or("");
}

// What the kernel's config says against the scenario, with the lines to add; empty where it is fine
// or not known.
std::string ConfigObjection(const Scenario& scenario, const Kernel& kernel,
                            const std::string& config) {
  if (config.empty()) return {};
  const std::vector<ConfigNeed> missing = MissingNeeds(
      ParseKernelConfig(config), ConfigNeedsOf(scenario), !kernel.modules_root.empty());
  if (missing.empty()) return {};
  return fmt::format(
      "the kernel {} is configured without what the scenario needs, and was not "
      "booted; add to its .config ({}): {}",
      kernel.asked, kernel.config_file, ConfigLines(missing));
}

// The record from what the guest handed out: its own, or what there is of one.
Record ReadFrames(Record blank, const BootOutcome& boot) {
  std::string status;
  std::string unreadable;
  for (const Frame& frame : boot.frames) {
    if (frame.kind == kFrameRecord) {
      Result<Record> record = RecordFromJson(frame.text);
      if (record) return std::move(*record);
      unreadable = record.error().message;
    } else if (frame.kind == kFramePhase) {
      if (Result<PhaseRecord> phase = PhaseFromJson(frame.text)) {
        blank.phases.push_back(std::move(*phase));
      }
    } else if (frame.kind == kFrameStatus) {
      status = frame.text;
    }
  }
  switch (boot.end) {
    case BootEnd::kInterrupted:
      blank.outcome = RunOutcome::kInterrupted;
      blank.outcome_why = boot.why;
      break;
    case BootEnd::kNotStarted:
      blank.outcome = RunOutcome::kError;
      blank.outcome_why = boot.why;
      break;
    case BootEnd::kDied:
      blank.outcome_why = fmt::format("the guest died: {}", boot.why);
      break;
    case BootEnd::kFinished:
      blank.outcome_why = fmt::format("the run in the guest ended without a record ({}){}{}",
                                      status, unreadable.empty() ? "" : ": ", unreadable);
      break;
  }
  return blank;
}

}  // namespace

Record RunInGuest(const Scenario& scenario, const std::string& canonical_toml,
                  const GuestOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  HostRecord host = DescribeHost(options);
  Record record = BlankRecord(scenario, canonical_toml, options);
  const std::string config = ConfigOf(options.kernel);
  if (std::string objection = ConfigObjection(scenario, options.kernel, config);
      !objection.empty()) {
    record.outcome = RunOutcome::kUnmet;
    record.outcome_why = std::move(objection);
    record.host = std::move(host);
    return record;
  }

  const int64_t limit_ns = GuestLimitNs(scenario.LengthNs());
  FixtureNeeds needs = NeedsOf(scenario);
  ImageSpec image = MakeImageSpec(options, std::move(needs.modules), limit_ns);
  image.texts.emplace_back(std::string(guest::kScenarioPath), canonical_toml);
  BootOptions boot_options = MakeBootOptions(options, scenario.guest, limit_ns);
  boot_options.boot_words = std::move(needs.boot_words);
  boot_options.qemu_arguments = std::move(needs.qemu_arguments);
  if (Result<void> built = BuildImage(image, options.work_folder, boot_options.initrd); !built) {
    record.outcome = built.error().kind == ErrorKind::kInterrupted ? RunOutcome::kInterrupted
                                                                   : RunOutcome::kError;
    record.outcome_why = built.error().message;
  } else {
    BootOutcome boot = BootGuest(boot_options);
    record = ReadFrames(std::move(record), boot);
    if (boot.end == BootEnd::kFinished && record.outcome == RunOutcome::kComplete &&
        !boot.why.empty()) {
      record.outcome = RunOutcome::kError;
      record.outcome_why = fmt::format("the guest's kernel reported trouble: {}", boot.why);
    }
    if (record.outcome == RunOutcome::kUnmet) {
      record.outcome_why = ExplainUnmet(options.kernel, record.outcome_why);
    }
    AuditFromOutside(options, &record.environment);
    host.failed_boots = std::move(boot.failed_boots);
    host.qemu_arguments = std::move(boot.qemu_arguments);
  }
  if (!config.empty()) record.environment.kernel_config_hash = Sha256(config);
  host.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  record.host = std::move(host);
  return record;
}

Result<GuestCommandOutcome> RunCommandInGuest(const GuestCommand& command,
                                              const GuestOptions& options) {
  std::vector<std::string> modules(std::begin(kModulesAlways), std::end(kModulesAlways));
  modules.insert(modules.end(), command.modules.begin(), command.modules.end());
  ImageSpec image = MakeImageSpec(options, std::move(modules), command.limit_ns);
  image.files = command.files;
  image.texts.emplace_back(std::string(guest::kCommandPath),
                           fmt::format("{}\n", fmt::join(command.argv, "\n")));
  BootOptions boot_options = MakeBootOptions(options, command.shape, command.limit_ns);
  boot_options.boot_words = command.boot_words;
  boot_options.qemu_arguments = command.qemu_arguments;
  RETURN_IF_ERROR(BuildImage(image, options.work_folder, boot_options.initrd));

  BootOutcome boot = BootGuest(boot_options);
  GuestCommandOutcome outcome;
  outcome.end = boot.end;
  outcome.why = std::move(boot.why);
  for (Frame& frame : boot.frames) {
    if (frame.kind == kFrameOutput) outcome.output += frame.text;
    if (frame.kind == kFrameStatus) outcome.status = std::move(frame.text);
  }
  return outcome;
}

}  // namespace blkfair
