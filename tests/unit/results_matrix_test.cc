// Grids, and what each cell protects at what price.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/matrix/matrix.h"
#include "tests/support/record_builder.h"

namespace blkfair {
namespace {

TEST(MatrixAxes, ValuesAreSeparatedOutsideBracketsAndQuotes) {
  const auto axis = ParseMatrixAxis(R"(fixture.pair.service_time=["1ms", "2ms"],"3,5ms",4ms)");
  ASSERT_TRUE(axis);
  EXPECT_EQ(axis->key, "fixture.pair.service_time");
  EXPECT_EQ(axis->values, (std::vector<std::string>{R"(["1ms", "2ms"])", R"("3,5ms")", "4ms"}));
  for (const char* text : {"", "key", "=1", "key=", "key=1,", "key=1,,2"}) {
    EXPECT_FALSE(ParseMatrixAxis(text)) << text;
  }
}

TEST(MatrixAxes, GridHasAllCombinationsLastAxisFastest) {
  const std::vector<MatrixAxis> axes = {{"a", {"1", "2"}}, {"b", {"x", "y"}}};
  const std::vector<std::vector<std::string>> grid = {
      {"1", "x"}, {"1", "y"}, {"2", "x"}, {"2", "y"}};
  EXPECT_EQ(MatrixGrid(axes), grid);
  EXPECT_EQ(MatrixGrid({}).size(), 1u);
}

std::vector<MatrixCell> TwoCells(const Scenario& scenario) {
  const auto cell = [&](const std::string& value, Record record) {
    MatrixCell made;
    made.values = {value};
    made.records = {std::move(record)};
    made.judgement = Judge(scenario, made.records);
    made.folder = "out/" + value;
    made.command = "blkfair run lopsided.toml --kernel " + value;
    return made;
  };
  return {cell("stock", testing::StockRecord(scenario)),
          cell("nofair", testing::NofairRecord(scenario))};
}

TEST(MatrixFigures, LightKeepsItsRateAndTheOthersPayForIt) {
  const Scenario scenario = testing::LopsidedScenario();
  const auto roles = RolesOf(scenario);
  ASSERT_TRUE(roles);
  EXPECT_EQ(roles->light, "light");
  EXPECT_EQ(roles->shared_phase, "contention");
  EXPECT_EQ(roles->alone_phase, "solo_light");
  std::vector<MatrixCell> cells = TwoCells(scenario);
  const std::vector<MatrixFigures> figures = FiguresOf(*roles, cells);
  ASSERT_EQ(figures.size(), 2u);
  // 907 of 920 and about 215: what was measured of both kernels.
  EXPECT_GT(*figures[0].kept, 0.95);
  EXPECT_LT(*figures[1].kept, 0.3);
  EXPECT_LT(*figures[0].p99_stretch, 2);
  EXPECT_GT(*figures[1].p99_stretch, 20);
  // The heavy job has half with fairness; the unfair kernel gives it most.
  EXPECT_NEAR(*figures[0].price, 0.5, 0.02);
  EXPECT_EQ(*figures[1].price, 0);

  cells[0].records.front().phases.clear();
  const std::vector<MatrixFigures> without = FiguresOf(*roles, cells);
  EXPECT_FALSE(without[0].kept || without[0].price) << "absent is not zero";
  EXPECT_TRUE(without[1].kept);
}

TEST(MatrixReports, CellsOfOnePlaceStandBesideEachOtherInThePicture) {
  const Scenario scenario = testing::LopsidedScenario();
  std::vector<MatrixCell> cells = TwoCells(scenario);
  const MatrixCell dear = cells[0];
  cells.push_back(dear);
  cells.push_back(dear);
  const std::vector<MatrixAxis> axes = {{"kernel", {"w", "x", "y", "z"}}};
  MatrixReportInput input;
  input.scenario = &scenario;
  input.axes = axes;
  input.cells = cells;
  const std::string report = MatrixReport(input);
  EXPECT_NE(report.find(" dca\n"), std::string::npos) << report;
  EXPECT_NE(report.find(" |b\n"), std::string::npos) << report;
}

TEST(MatrixReports, EachCellStandsInTheTableWithItsCommand) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  const std::vector<MatrixCell> cells = TwoCells(scenario);
  const std::vector<MatrixAxis> axes = {{"kernel", {"stock", "nofair"}}};
  MatrixReportInput input;
  input.scenario = &scenario;
  input.axes = axes;
  input.cells = cells;
  input.folder = "out";
  input.command = "blkfair matrix lopsided.toml";
  const std::string report = MatrixReport(input);
  for (const char* part : {"a  stock   pass", "b  nofair  fail", " a  blkfair run lopsided.toml",
                           " b  blkfair run lopsided.toml --kernel nofair",
                           "blkfair compare out/stock out/nofair --kernels-differ"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
  }
}

TEST(MatrixReports, JsonHasAnObjectForEachCell) {
  Scenario scenario = testing::LopsidedScenario();
  scenario.asserts = testing::LopsidedAsserts();
  const std::vector<MatrixCell> cells = TwoCells(scenario);
  const std::vector<MatrixAxis> axes = {{"kernel", {"stock", "nofair"}}};
  MatrixReportInput input;
  input.scenario = &scenario;
  input.axes = axes;
  input.cells = cells;
  const auto json = nlohmann::json::parse(MatrixJson(input, 1));
  EXPECT_EQ(json["light"], "light");
  EXPECT_EQ(json["exit_code"], 1);
  ASSERT_EQ(json["cells"].size(), 2u);
  EXPECT_EQ(json["cells"][0]["values"]["kernel"], "stock");
  EXPECT_EQ(json["cells"][0]["outcome"], "pass");
  EXPECT_EQ(json["cells"][1]["outcome"], "fail");
  EXPECT_GT(json["cells"][0]["light_kept"], json["cells"][1]["light_kept"]);
  EXPECT_GT(json["cells"][0]["price"], 0);
  EXPECT_EQ(json["cells"][1]["price"], 0);
}

}  // namespace
}  // namespace blkfair
