// `blkfair matrix`: a scenario over a grid of keys and kernels, in one table and one result folder.
#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/fd.h"
#include "harness/cli/command.h"
#include "harness/cli/exit_codes.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/progress_line.h"
#include "harness/cli/scenario_files.h"
#include "harness/cli/shell.h"
#include "harness/cli/side.h"
#include "results/fairness/judge.h"
#include "results/matrix/matrix.h"
#include "results/result_folder.h"

namespace blkfair {

namespace {

constexpr const char* kKernelAxis = "kernel";
constexpr size_t kCellsMax = 1000;

// A combination of values.
struct Cell : Side {
  std::vector<std::string> values;
  std::vector<std::string> overrides;
};

class MatrixCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App& app) override;
  int Run() override;

 private:
  Result<std::vector<MatrixAxis>> GivenAxes() const;
  Result<void> ReadAxes();
  Result<void> MakeCell(std::vector<std::string> values);
  Result<void> TakeUpEarlier(Cell* cell) const;
  Result<void> ResolveKernels();
  Result<void> RunAll();
  Result<int> Report() const;
  Result<int> All();
  std::string CellCommand(const Cell& cell) const;
  std::string CommandLine() const;

  std::string scenario_;
  std::vector<std::string> axis_texts_;
  std::vector<std::string> kernels_;
  std::vector<std::string> overrides_;
  std::string time_ = "virtual";
  std::string out_ = "blkfair-matrix";
  bool resume_ = false;
  bool json_ = false;
  bool quiet_ = false;
  std::vector<MatrixAxis> axes_;
  std::vector<Cell> cells_;
  std::unique_ptr<ProgressLine> progress_;
};

CLI::App* MatrixCommand::AddTo(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "matrix",
      "Run a scenario over a grid of keys and kernels: protection and price of each cell");
  command->add_option("SCENARIO", scenario_, "Scenario file")->required()->check(CLI::ExistingFile);
  command
      ->add_option(
          "--axis", axis_texts_,
          "A key and its values: fixture.pair.scheduler=none,mq-deadline,kyber,bfq; may be "
          "given several times [the scenario's own]")
      ->allow_extra_args(false);
  command
      ->add_option("--kernel", kernels_,
                   "The guests' kernel; given several times: an axis [debian:6.12]")
      ->allow_extra_args(false);
  command->add_option("--set", overrides_, "Override a key in all cells")->allow_extra_args(false);
  command->add_option("--time", time_, "The guests' time: virtual or real")
      ->check(CLI::IsMember({"virtual", "real"}))
      ->capture_default_str();
  command->add_option("--out", out_, "Result folder")->capture_default_str();
  command->add_flag("--resume", resume_,
                    "Take up what an interrupted matrix left in the result folder");
  command->add_flag("--json", json_, "One JSON document instead of the table");
  command->add_flag("-q,--quiet", quiet_, "No progress");
  return command;
}

// Those that were given, or else the scenario's own.
Result<std::vector<MatrixAxis>> MatrixCommand::GivenAxes() const {
  std::vector<MatrixAxis> axes;
  for (const std::string& text : axis_texts_) {
    auto axis = ParseMatrixAxis(text);
    if (!axis) {
      return Fail(
          ErrorKind::kUsage,
          fmt::format("--axis {}: KEY=VALUE,VALUE is wanted, such as job.heavy.iodepth=1,64",
                      text));
    }
    axes.push_back(std::move(*axis));
  }
  if (!axes.empty()) return axes;
  auto loaded = LoadScenarios({scenario_}, overrides_);
  if (!loaded) return Fail(loaded.error());
  for (const AxisSpec& axis : loaded->front().scenario.axes) {
    axes.push_back({axis.key, axis.values});
  }
  return axes;
}

Result<void> MatrixCommand::ReadAxes() {
  if (kernels_.empty()) kernels_ = {"debian:6.12"};
  ASSIGN_OR_RETURN(axes_, GivenAxes());
  for (const MatrixAxis& axis : axes_) {
    if (axis.key != kKernelAxis) continue;
    return Fail(ErrorKind::kUsage, "an axis of kernels: give --kernel several times");
  }
  if (kernels_.size() > 1) axes_.push_back({kKernelAxis, kernels_});
  if (axes_.empty()) {
    return Fail(ErrorKind::kUsage,
                "a matrix needs an axis: --axis KEY=VALUE,VALUE, or --kernel several times, or an "
                "[[axis]] in the scenario");
  }
  for (size_t i = 0; i < axes_.size(); i++) {
    std::vector<std::string> values = axes_[i].values;
    std::sort(values.begin(), values.end());
    if (std::adjacent_find(values.begin(), values.end()) != values.end()) {
      return Fail(ErrorKind::kUsage, fmt::format("a value of {} is given twice", axes_[i].key));
    }
    for (size_t j = 0; j < i; j++) {
      if (axes_[i].key != axes_[j].key) continue;
      return Fail(ErrorKind::kUsage, fmt::format("--axis {} is given twice", axes_[i].key));
    }
  }
  return {};
}

// "scheduler=bfq,kernel=debian-6.12": letters that every file system takes.
std::string FolderName(const std::vector<MatrixAxis>& axes,
                       const std::vector<std::string>& values) {
  std::string name;
  for (size_t i = 0; i < axes.size(); i++) {
    name += fmt::format("{}{}={}", i == 0 ? "" : ",", axes[i].key, values[i]);
  }
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || c == ':' || c == '"' || c == ' ' || c == '\n'; }, '-');
  return name;
}

Result<void> MatrixCommand::MakeCell(std::vector<std::string> values) {
  Cell cell;
  cell.overrides = overrides_;
  cell.kernel = kernels_.front();
  for (size_t i = 0; i < axes_.size(); i++) {
    if (axes_[i].key == kKernelAxis) {
      cell.kernel = values[i];
    } else {
      cell.overrides.push_back(fmt::format("{}={}", axes_[i].key, values[i]));
    }
  }
  cell.folder = fmt::format("{}/{}", out_, FolderName(axes_, values));
  cell.values = std::move(values);
  auto loaded = LoadScenarios({scenario_}, cell.overrides);
  if (!loaded) return Fail(loaded.error());
  cell.loaded = std::move(loaded->front());
  cell.command = CellCommand(cell);
  if (kernels_.size() > 1 && IsSimulated(cell.loaded.scenario)) {
    return Fail(ErrorKind::kUsage, "--kernel: simulated queues know no kernel");
  }
  if (resume_) {
    RETURN_IF_ERROR(TakeUpEarlier(&cell));
  } else {
    RETURN_IF_ERROR(CheckResultFolderFree(cell.folder, /*force=*/false));
  }
  cells_.push_back(std::move(cell));
  return {};
}

Result<void> MatrixCommand::TakeUpEarlier(Cell* cell) const {
  std::error_code error;
  if (!std::filesystem::exists(cell->folder, error)) return {};
  ASSIGN_OR_RETURN(const ResultFolder earlier, ReadResultFolder(cell->folder));
  for (const Record& record : earlier.records) {
    const bool guest = record.environment.executor == "guest";
    if (record.scenario_hash != cell->loaded.hash ||
        (guest && (record.host.kernel != cell->kernel || record.environment.time != time_))) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("{} holds records of another scenario, kernel or time: name another "
                              "--out",
                              cell->folder));
    }
    if (record.outcome == RunOutcome::kComplete) cell->records[record.repeat] = record;
  }
  return {};
}

Result<void> MatrixCommand::ResolveKernels() {
  std::map<std::string, Kernel> resolved;
  for (Cell& cell : cells_) {
    cell.options.time = time_ == "real" ? GuestTime::kReal : GuestTime::kVirtual;
    if (IsSimulated(cell.loaded.scenario)) continue;
    if (resolved.count(cell.kernel) == 0) {
      ASSIGN_OR_RETURN(
          resolved[cell.kernel],
          ResolveKernel(
              cell.kernel, [this](const std::string& line) { progress_->Say("blkfair: " + line); },
              InterruptFlag::Raised));
    }
    cell.options.kernel = resolved[cell.kernel];
  }
  return {};
}

// First repeats first: an interrupted matrix has something in every cell as early as can be.
Result<void> MatrixCommand::RunAll() {
  uint32_t repeats = 0;
  for (const Cell& cell : cells_) repeats = std::max(repeats, cell.loaded.scenario.repeat);
  std::vector<SideRun> runs;
  for (uint32_t repeat = 1; repeat <= repeats; repeat++) {
    for (Cell& cell : cells_) {
      if (repeat > cell.loaded.scenario.repeat || cell.records.count(repeat) > 0) continue;
      runs.push_back({&cell, repeat});
    }
  }
  return RunSides(runs, progress_.get());
}

std::string MatrixCommand::CellCommand(const Cell& cell) const {
  std::string command =
      fmt::format("{} run {}", ShellQuoted(program_invocation_name), ShellQuoted(scenario_));
  if (!IsSimulated(cell.loaded.scenario)) {
    command += fmt::format(" --kernel {} --time {}", ShellQuoted(cell.kernel), time_);
  }
  command += SetOptions(cell.overrides);
  return command;
}

std::string MatrixCommand::CommandLine() const {
  std::string command =
      fmt::format("{} matrix {}", ShellQuoted(program_invocation_name), ShellQuoted(scenario_));
  for (const std::string& text : axis_texts_) command += " --axis " + ShellQuoted(text);
  for (const std::string& kernel : kernels_) command += " --kernel " + ShellQuoted(kernel);
  command += SetOptions(overrides_);
  return command + " --time " + time_;
}

Result<int> MatrixCommand::Report() const {
  std::vector<MatrixCell> cells;
  std::vector<int> codes;
  for (const Cell& cell : cells_) {
    MatrixCell row{cell.values, cell.List(), {}, cell.folder, cell.command};
    if (row.records.empty()) continue;  // interrupted before it was run
    row.judgement = Judge(cell.loaded.scenario, row.records);
    codes.push_back(row.judgement.exit_code);
    cells.push_back(std::move(row));
  }
  if (cells.empty()) return Fail(ErrorKind::kInterrupted, "interrupted before anything was run");
  MatrixReportInput input;
  input.scenario = &cells_.front().loaded.scenario;
  input.axes = axes_;
  input.cells = cells;
  input.folder = out_;
  input.command = CommandLine();
  const std::string report = MatrixReport(input);
  RETURN_IF_ERROR(WriteWholeFile(out_ + "/report.txt", report));
  const int code = InterruptFlag::Raised() ? kExitInterrupted : CombineExitCodes(codes);
  fmt::print("{}", json_ ? MatrixJson(input, code) : report);
  if (code != kExitInterrupted) return code;
  progress_->Say(fmt::format("blkfair: interrupted; go on with --resume --out {}", out_));
  return kExitInterrupted;
}

Result<int> MatrixCommand::All() {
  RETURN_IF_ERROR(ReadAxes());
  std::vector<std::vector<std::string>> grid = MatrixGrid(axes_);
  if (grid.size() > kCellsMax) {
    return Fail(ErrorKind::kUsage, fmt::format("{} cells are more than a matrix may have ({})",
                                               grid.size(), kCellsMax));
  }
  for (std::vector<std::string>& values : grid) {
    RETURN_IF_ERROR(MakeCell(std::move(values)));
  }
  RETURN_IF_ERROR(ResolveKernels());
  RETURN_IF_ERROR(RunAll());
  return Report();
}

int MatrixCommand::Run() {
  InterruptFlag::Install();
  progress_ = std::make_unique<ProgressLine>(quiet_);
  const Result<int> code = All();
  progress_->Clear();
  if (code) return *code;
  fmt::print(stderr, "blkfair: {}\n", code.error().message);
  return ExitCodeOf(code.error().kind);
}

}  // namespace

std::unique_ptr<Command> MakeMatrixCommand() { return std::make_unique<MatrixCommand>(); }

}  // namespace blkfair
