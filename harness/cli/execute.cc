#include "harness/cli/execute.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "base/user_dirs.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/work_folder.h"
#include "harness/run/foreign_use.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/module.h"
#include "kmod_setup/nvme_identify.h"

namespace blkfair {

namespace {

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

size_t UsableCpus() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&usable)));
}

// blkfair-guest stands beside blkfair.
Result<std::string> GuestInit() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Fail(ErrorKind::kKernel, "find blkfair's own path: " + error.message());
  const std::string path = self.parent_path() / "blkfair-guest";
  if (!std::filesystem::exists(path, error)) {
    return Fail(ErrorKind::kKernel,
                fmt::format("{} is missing: it is what runs in the guest; build it", path));
  }
  return path;
}

// The scenario's name in the progress line.
std::string Label(const LoadedScenario& loaded, const ExecuteOptions& options) {
  if (options.repeat == 1) return loaded.scenario.name;
  return fmt::format("{} (repeat {})", loaded.scenario.name, options.repeat);
}

RunOptions HereOptions(const LoadedScenario& loaded, const ExecuteOptions& options,
                       ProgressLine* progress) {
  RunOptions run;
  run.scenario = &loaded.scenario;
  run.canonical_toml = loaded.canonical_toml;
  run.scenario_hash = loaded.hash;
  run.repeat = options.repeat;
  run.interrupted = InterruptFlag::Raised;
  run.progress = [progress, label = Label(loaded, options)](const RunProgress& at) {
    progress->Show(label, at);
  };
  return run;
}

Execution RunSimulated(const LoadedScenario& loaded, const ExecuteOptions& options,
                       ProgressLine* progress) {
  KernelFs fs(KernelRoots::Real());
  KmodModuleLoader modules;
  Journal journal = Journal::Discarding();
  RunOptions run = HereOptions(loaded, options, progress);
  run.executor_name = "sim";
  run.time_name = "simulated";
  run.fs = &fs;
  run.modules = &modules;
  run.journal = &journal;
  return {RunScenario(run), {}, {}};
}

Result<Execution> RunOnHost(const LoadedScenario& loaded, const ExecuteOptions& options,
                            ProgressLine* progress) {
  KernelFs fs(KernelRoots::Real());
  KmodModuleLoader modules;
  ASSIGN_OR_RETURN(Journal journal, Journal::Create(JournalDir(), fs));
  RunOptions run = HereOptions(loaded, options, progress);
  run.executor_name = "host";
  run.destroy = options.destroy;
  const std::unique_ptr<NvmeIdentifier> nvme = MakeLibnvmeIdentifier();
  run.nvme = nvme.get();
  run.time_name = "real";
  run.fs = &fs;
  run.modules = &modules;
  run.journal = &journal;
  return Execution{RunScenario(run), {}, {}};
}

Result<Execution> RunInGuestHere(const LoadedScenario& loaded, const ExecuteOptions& options,
                                 ProgressLine* progress) {
  RETURN_IF_ERROR(CheckForeignUse(loaded.scenario, "guest", options.destroy));
  const KernelFs fs(KernelRoots::Real());
  ASSIGN_OR_RETURN(Journal journal, Journal::Create(JournalDir(), fs));
  ASSIGN_OR_RETURN(WorkFolder folder, WorkFolder::Create(&journal));
  if (options.keep) folder.Keep();
  GuestOptions guest;
  guest.kernel = options.kernel;
  guest.time = options.time;
  guest.repeat = options.repeat;
  ASSIGN_OR_RETURN(guest.init_executable, GuestInit());
  guest.work_folder = folder.path();
  guest.console_file = folder.path() + "/console.log";
  guest.journal = &journal;
  guest.interrupted = InterruptFlag::Raised;
  guest.progress = [progress, label = Label(loaded, options)](const RunProgress& at) {
    progress->Show(label, at);
  };
  guest.progress({"boot " + options.kernel.asked, 0, 0, 0, 0});
  Execution execution;
  execution.record = RunInGuest(loaded.scenario, loaded.canonical_toml, guest);
  if (auto console = ReadWholeFile(guest.console_file)) execution.console = std::move(*console);
  if (options.keep) execution.kept_folder = folder.path();
  return execution;
}

}  // namespace

std::string JournalDir() { return StateDir() + "/journals"; }

Result<Execution> Execute(const LoadedScenario& loaded, const ExecuteOptions& options,
                          ProgressLine* progress) {
  const std::string started = UtcNow();
  const auto began = std::chrono::steady_clock::now();
  Result<Execution> execution =
      IsSimulated(loaded.scenario)    ? RunSimulated(loaded, options, progress)
      : options.where == Where::kHost ? RunOnHost(loaded, options, progress)
                                      : RunInGuestHere(loaded, options, progress);
  progress->Clear();
  if (!execution) return execution;
  HostRecord& host = execution->record.host;
  host.started = started;
  host.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return execution;
}

std::vector<std::optional<Result<Execution>>> ExecuteAll(
    const std::vector<ExecuteTask>& tasks, ProgressLine* progress,
    const std::function<void(size_t, const Result<Execution>&)>& done) {
  const bool side_by_side = std::all_of(tasks.begin(), tasks.end(), [](const ExecuteTask& task) {
    return !IsSimulated(task.loaded->scenario) && task.options.where == Where::kGuest &&
           task.options.time == GuestTime::kVirtual;
  });
  const size_t at_a_time = side_by_side ? std::min<size_t>(UsableCpus(), tasks.size()) : size_t{1};
  std::vector<std::optional<Result<Execution>>> results(tasks.size());
  std::atomic<size_t> next = 0;
  std::mutex telling;
  size_t ended = 0;
  const auto began = std::chrono::steady_clock::now();
  progress->SetSeries(SeriesText(0, tasks.size(), 0));
  const auto work = [&] {
    for (size_t at = next++; at < tasks.size() && (at == 0 || !InterruptFlag::Raised());
         at = next++) {
      results[at] = Execute(*tasks[at].loaded, tasks[at].options, progress);
      const std::lock_guard lock(telling);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
      progress->SetSeries(SeriesText(++ended, tasks.size(), passed.count()));
      if (done) done(at, *results[at]);
    }
  };
  // This thread is one of them: a single run stays where it was called.
  std::vector<std::thread> others;
  for (size_t i = 1; i < at_a_time; i++) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  progress->SetSeries({});
  return results;
}

}  // namespace blkfair
