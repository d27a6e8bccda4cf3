#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "results/matrix/matrix.h"
#include "results/report/layout.h"

namespace blkfair {
namespace {

constexpr size_t kLabelColumns = 13;
constexpr size_t kPlotColumns = 52;
constexpr size_t kPlotRows = 10;
constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kLetterCount = 52;

std::string Letter(size_t cell) {
  return cell < kLetterCount ? std::string(1, kLetters[cell]) : std::string("*");
}

std::string Percent(const std::optional<double>& part) {
  return part ? fmt::format("{:.1f} %", *part * 100) : std::string("-");
}

// "scheduler" of "fixture.pair.scheduler", where no other axis ends so.
std::string ShortKey(std::span<const MatrixAxis> axes, const std::string& key) {
  const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  const auto same = std::count_if(axes.begin(), axes.end(), [&](const MatrixAxis& axis) {
    return last(axis.key) == last(key);
  });
  return same == 1 ? last(key) : key;
}

std::string Table(const MatrixReportInput& input, const MatrixRoles& roles,
                  std::span<const MatrixFigures> figures) {
  std::vector<Align> columns = {Align::kLeft};
  std::vector<std::string> titles = {""};
  for (const MatrixAxis& axis : input.axes) {
    columns.push_back(Align::kLeft);
    titles.push_back(ShortKey(input.axes, axis.key));
  }
  for (const std::string& title :
       {std::string("verdict"), roles.light + " keeps", roles.light + " p99", std::string("times"),
        std::string("others iops"), std::string("price")}) {
    columns.push_back(title == "verdict" ? Align::kLeft : Align::kRight);
    titles.push_back(title);
  }
  TextTable table(columns, 4);
  table.Row(titles);
  for (size_t i = 0; i < input.cells.size(); i++) {
    const MatrixFigures& row = figures[i];
    std::vector<std::string> cells = {Letter(i)};
    cells.insert(cells.end(), input.cells[i].values.begin(), input.cells[i].values.end());
    cells.emplace_back(RunOutcomeWord(input.cells[i].judgement));
    cells.push_back(Percent(row.kept));
    cells.push_back(row.p99_ns ? HumanDuration(*row.p99_ns) : "-");
    cells.push_back(row.p99_stretch ? fmt::format("{:.2f}", *row.p99_stretch) : "-");
    cells.push_back(row.others_iops ? fmt::format("{:.0f}", *row.others_iops) : "-");
    cells.push_back(Percent(row.price));
    table.Row(cells);
  }
  return table.ToString();
}

// Protection upwards, price to the right: the best choice is at the top left.
std::string Plot(std::span<const MatrixFigures> figures) {
  double dearest = 0;
  double most = 1;
  for (const MatrixFigures& row : figures) {
    if (row.price) dearest = std::max(dearest, *row.price);
    if (row.kept) most = std::max(most, *row.kept);
  }
  if (dearest <= 0) dearest = 0.01;
  std::array<std::string, kPlotRows> lines;
  lines.fill(std::string(kPlotColumns, ' '));
  for (size_t i = 0; i < figures.size(); i++) {
    if (!figures[i].price || !figures[i].kept) continue;
    const auto at = [](double part, size_t steps) {
      return static_cast<size_t>(part * static_cast<double>(steps - 1) + 0.5);
    };
    std::string& line = lines[kPlotRows - 1 - at(*figures[i].kept / most, kPlotRows)];
    size_t column = at(*figures[i].price / dearest, kPlotColumns);
    // Cells of one place stand beside each other.
    const size_t free = line.find(' ', column);
    column = free != std::string::npos ? free : std::min(column, line.rfind(' '));
    line[column] = Letter(i).front();
  }
  std::string out;
  for (size_t i = 0; i < kPlotRows; i++) {
    const std::string scale = i == 0               ? fmt::format("{:.0f} %", most * 100)
                              : i + 1 == kPlotRows ? std::string("0 %")
                                                   : std::string();
    std::string line = fmt::format("    {:>6} |{}", scale, lines[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += fmt::format("           +{}\n", std::string(kPlotColumns, '-'));
  out += fmt::format("            0 %{:>{}}\n", fmt::format("{:.1f} %", dearest * 100),
                     kPlotColumns - 3);
  return out;
}

// How any two cells are compared.
std::string CompareHint(const MatrixReportInput& input) {
  if (input.cells.size() < 2) return "    there is only one\n";
  std::string command =
      fmt::format("blkfair compare {} {}", input.cells[0].folder, input.cells[1].folder);
  for (const MatrixAxis& axis : input.axes) {
    command += axis.key == "kernel" ? std::string(" --kernels-differ") : " --differ " + axis.key;
  }
  return WrapCommand(command, 4);
}

}  // namespace

std::string MatrixReport(const MatrixReportInput& input) {
  const std::optional<MatrixRoles> roles = RolesOf(*input.scenario);
  std::string out = Labelled("Scenario", input.scenario->name, kLabelColumns);
  const EnvironmentRecord& environment = input.cells.front().records.front().environment;
  out +=
      Labelled("Run",
               fmt::format("{}, {} time; {} cells, {} run{} each", environment.executor,
                           environment.time, input.cells.size(), input.cells.front().records.size(),
                           input.cells.front().records.size() == 1 ? "" : "s"),
               kLabelColumns);
  std::vector<MatrixFigures> figures(input.cells.size());
  if (roles) figures = FiguresOf(*roles, input.cells);
  out += "\nCells\n" + Table(input, roles.value_or(MatrixRoles{"-", "", ""}), figures);
  for (size_t i = 0; i < input.cells.size(); i++) {
    for (const Record& record : input.cells[i].records) {
      if (record.outcome == RunOutcome::kComplete) continue;
      out += Labelled("  " + Letter(i),
                      fmt::format("repeat {}: {}: {}", record.repeat,
                                  RunOutcomeName(record.outcome), record.outcome_why),
                      kLabelColumns);
    }
  }
  if (roles) {
    out += fmt::format("\nWhat {} keeps of its rate alone, over the price\n", roles->light) +
           Plot(figures) +
           Labelled("",
                    fmt::format("price: what the others of {} lose against the cell that gives "
                                "them most",
                                roles->shared_phase),
                    kLabelColumns);
  }
  out += "\nEach cell again\n";
  for (size_t i = 0; i < input.cells.size(); i++) {
    std::string lines = WrapCommand(input.cells[i].command, 4);
    lines[1] = Letter(i).front();  // into the indent
    out += lines;
  }
  out += "\nTwo cells compared\n" + CompareHint(input) + "\nResults      " + input.folder + "\n";
  out += "\nThe matrix again\n" + WrapCommand(input.command, 4);
  return out;
}

}  // namespace blkfair
