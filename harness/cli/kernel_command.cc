// `blkfair kernel`: kernels to run on. list, fetch, build, remove, and what a config can run.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/fd.h"
#include "base/user_dirs.h"
#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/scenario_files.h"
#include "harness/guest/built_kernel.h"
#include "harness/guest/config_check.h"
#include "harness/guest/debian_kernel.h"
#include "harness/guest/guest.h"
#include "harness/kernels/kernel_build.h"
#include "harness/run/run.h"

namespace blkfair {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDebian = "debian:";
constexpr size_t kProgressColumns = 60;

class KernelCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override;
  int Run() override;

 private:
  void AddBuild();
  void AddConfig();
  Result<int> List() const;
  Result<int> Fetch();
  Result<int> Build();
  Result<int> Remove() const;
  Result<int> Check();
  std::function<void(const std::string&)> Say() {
    return [this](const std::string& line) { progress_->Say("blkfair: " + line); };
  }

  CLI::App* command_ = nullptr;
  CLI::App* list_ = nullptr;
  CLI::App* fetch_ = nullptr;
  CLI::App* build_command_ = nullptr;
  CLI::App* remove_ = nullptr;
  CLI::App* config_ = nullptr;
  std::string asked_;  // fetch, remove
  KernelBuild build_;
  std::string check_;
  std::vector<std::string> scenarios_;
  bool quiet_ = false;
  std::unique_ptr<ProgressLine> progress_;
};

CLI::App* KernelCommand::AddTo(CLI::App& app) {
  command_ = app.add_subcommand("kernel", "Kernels to run on: list, fetch, build, remove, config");
  command_->require_subcommand(1);
  command_->add_flag("-q,--quiet", quiet_, "No progress");
  list_ = command_->add_subcommand("list", "What --kernel can be given here");
  fetch_ = command_->add_subcommand("fetch", "Fetch a Debian kernel into the cache");
  fetch_->add_option("KERNEL", asked_, "debian:6.1, debian:6.12 or debian:7")->required();
  AddBuild();
  remove_ = command_->add_subcommand("remove", "Remove a built kernel, or a fetched one");
  remove_->add_option("KERNEL", asked_, "Its name, or debian:X")->required();
  AddConfig();
  return command_;
}

void KernelCommand::AddBuild() {
  build_command_ = command_->add_subcommand(
      "build", "Build a small kernel; again under the same name: only what has changed");
  build_command_
      ->add_option("--source", build_.source, "A kernel tree, or debian:6.12: Debian's source")
      ->required();
  build_command_->add_option("--name", build_.name, "What --kernel is given then")->required();
  build_command_
      ->add_option("--config-fragment", build_.fragments,
                   "Config lines over blkfair's own; may be given several times")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  build_command_
      ->add_option("--patch", build_.changes.patches,
                   "Applied to a copy of the source, by patch -p1")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  build_command_
      ->add_option("--edit", build_.changes.edits,
                   "Shell script that is given a copy of the source and changes it")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
}

void KernelCommand::AddConfig() {
  config_ = command_->add_subcommand("config", "What a kernel's config can run, and what it lacks");
  config_
      ->add_option("--check", check_,
                   "A tree, built or not, its .config, or a kernel as for --kernel")
      ->required();
  config_->add_option("SCENARIO", scenarios_,
                      "Scenario files, or folders of them [those that blkfair was built with]");
}

Result<int> KernelCommand::List() const {
  for (const std::string_view series : DebianSeriesNames()) {
    fmt::print("{:<16} {}\n", fmt::format("{}{}", kDebian, series),
               HasDebianKernel(series, CacheDir()) ? "fetched" : "not fetched yet");
  }
  for (const std::string& name : BuiltKernelNames()) {
    const auto origin = ReadKernelOrigin(name);
    if (!origin) {
      fmt::print("{:<16} not built to its end\n", name);
      continue;
    }
    std::string from = OriginValue(*origin, "source");
    for (const auto& [key, value] : *origin) {
      if (key == "package" || key == "commit") from += " (" + value + ")";
      if (key == "patch" || key == "edit") from += fmt::format(", {} {}", key, value.substr(65));
    }
    fmt::print("{:<16} {}, built from {}\n", name, OriginValue(*origin, "release"), from);
  }
  fmt::print("{:<16} this machine's own kernel\n", "host");
  return kExitPass;
}

Result<int> KernelCommand::Fetch() {
  if (!asked_.starts_with(kDebian)) {
    return Fail(ErrorKind::kUsage, fmt::format("fetch {}: only debian:X can be fetched", asked_));
  }
  ASSIGN_OR_RETURN(const Kernel kernel, ResolveKernel(asked_, Say(), InterruptFlag::Raised));
  fmt::print("{}: {}\n", asked_, kernel.release);
  return kExitPass;
}

Result<int> KernelCommand::Build() {
  RETURN_IF_ERROR(
      BuildKernel(build_, Say(), InterruptFlag::Raised, [this](const std::string& line) {
        progress_->Show(build_.name, RunProgress{line.substr(0, kProgressColumns), 0, 0, 0, 0});
      }));
  progress_->Clear();
  ASSIGN_OR_RETURN(const Kernel kernel, ResolveKernel(build_.name, Say(), InterruptFlag::Raised));
  fmt::print("{}: {}; run it with --kernel {}\n", build_.name, kernel.release, build_.name);
  return kExitPass;
}

Result<int> KernelCommand::Remove() const {
  bool removed = false;
  if (asked_.starts_with(kDebian)) {
    ASSIGN_OR_RETURN(removed, RemoveDebianKernel(asked_.substr(kDebian.size()), CacheDir()));
  } else if (IsKernelName(asked_)) {
    std::error_code error;
    removed = fs::remove_all(BuiltKernelFolder(asked_).path, error) > 0;
    if (error) return FailErrno(error.value(), fmt::format("remove the kernel {}", asked_));
  }
  if (removed) return kExitPass;
  return Fail(
      ErrorKind::kUsage,
      fmt::format("there is no kernel {} to remove: `blkfair kernel list` shows all", asked_));
}

Result<int> KernelCommand::Check() {
  // A tree that was not built yet has a config all the same.
  std::error_code error;
  std::string file = check_;
  bool modules = true;
  if (fs::exists(check_ + "/.config", error)) {
    file = check_ + "/.config";
  } else if (!fs::is_regular_file(check_, error)) {
    ASSIGN_OR_RETURN(const Kernel kernel, ResolveKernel(check_, Say(), InterruptFlag::Raised));
    file = kernel.config_file;
    modules = !kernel.modules_root.empty();
    if (file.empty()) {
      return Fail(ErrorKind::kUnmet, fmt::format("{}: its config is not known", check_));
    }
  }
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(file));
  const KernelConfig config = ParseKernelConfig(text);
  if (config.empty()) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is no kernel config: it has no CONFIG_ line", file));
  }
  // Called from within a kernel tree it still finds its own.
  if (scenarios_.empty()) scenarios_ = {BLKFAIR_SCENARIOS_DIR};
  const auto loaded = LoadScenarios(scenarios_, {});
  if (!loaded) return kExitUsage;  // it has said why
  int code = kExitPass;
  for (const LoadedScenario& row : *loaded) {
    std::vector<ConfigNeed> missing;
    if (!IsSimulated(row.scenario)) {
      missing = MissingNeeds(config, ConfigNeedsOf(row.scenario), modules);
    }
    fmt::print("{:<24} {}\n", row.scenario.name,
               missing.empty() ? "can run" : "lacks " + ConfigLines(missing));
    if (!missing.empty()) code = kExitUnmet;
  }
  return code;
}

int KernelCommand::Run() {
  InterruptFlag::Install();
  progress_ = std::make_unique<ProgressLine>(quiet_);
  const Result<int> code = list_->parsed()            ? List()
                           : fetch_->parsed()         ? Fetch()
                           : build_command_->parsed() ? Build()
                           : remove_->parsed()        ? Remove()
                                                      : Check();
  progress_->Clear();
  if (code) return *code;
  fmt::print(stderr, "blkfair: {}\n", code.error().message);
  return ExitCodeOf(code.error().kind);
}

}  // namespace

std::unique_ptr<Command> MakeKernelCommand() { return std::make_unique<KernelCommand>(); }

}  // namespace blkfair
