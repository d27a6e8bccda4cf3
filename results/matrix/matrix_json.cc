// The JSON form of a matrix.
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "results/json_text.h"
#include "results/matrix/matrix.h"

namespace blkfair {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMatrixSchema = 1;

Json Number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json CellJson(std::span<const MatrixAxis> axes, const MatrixCell& cell,
              const MatrixFigures& figures) {
  Json values = Json::object();
  for (size_t i = 0; i < axes.size(); i++) values[axes[i].key] = cell.values[i];
  return {{"values", values},
          {"n", cell.records.size()},
          {"outcome", std::string(RunOutcomeWord(cell.judgement))},
          {"light_kept", Number(figures.kept)},
          {"light_p99_ns", Number(figures.p99_ns)},
          {"light_p99_stretch", Number(figures.p99_stretch)},
          {"others_iops", Number(figures.others_iops)},
          {"price", Number(figures.price)},
          {"results", cell.folder},
          {"command", cell.command}};
}

}  // namespace

std::string MatrixJson(const MatrixReportInput& input, int exit_code) {
  const std::optional<MatrixRoles> roles = RolesOf(*input.scenario);
  std::vector<MatrixFigures> figures(input.cells.size());
  if (roles) figures = FiguresOf(*roles, input.cells);
  Json cells = Json::array();
  for (size_t i = 0; i < input.cells.size(); i++) {
    cells.push_back(CellJson(input.axes, input.cells[i], figures[i]));
  }
  const Json report = {{"schema", kMatrixSchema},
                       {"tool", "blkfair"},
                       {"tool_version", input.cells.front().records.front().tool_version},
                       {"scenario", input.scenario->name},
                       {"light", roles ? Json(roles->light) : Json(nullptr)},
                       {"phase", roles ? Json(roles->shared_phase) : Json(nullptr)},
                       {"cells", cells},
                       {"exit_code", exit_code},
                       {"results", input.folder},
                       {"command", input.command}};
  return PrettyJson(report.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace blkfair
