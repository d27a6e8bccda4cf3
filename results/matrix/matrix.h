// A scenario over a grid of keys and kernels: what each choice protects, and what it costs. Pure;
// any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/fairness/judge.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// One axis: a key of the scenario, or "kernel", and its values as they were given.
struct MatrixAxis {
  std::string key;
  std::vector<std::string> values;
};

// "fixture.pair.scheduler=none,bfq": values are separated by commas outside brackets and quotes.
// Empty where there is no "=", no key or no value.
std::optional<MatrixAxis> ParseMatrixAxis(std::string_view text);

// All combinations, the last axis fastest: one value for each axis.
std::vector<std::vector<std::string>> MatrixGrid(std::span<const MatrixAxis> axes);

struct MatrixCell {
  std::vector<std::string> values;  // one for each axis
  std::vector<Record> records;      // at least one
  Judgement judgement;
  std::string folder;   // of its records
  std::string command;  // that repeats it
};

// Who is to be protected from whom: the job that wants the least at once in the first phase that it
// shares, and the others there.
struct MatrixRoles {
  std::string light;
  std::string shared_phase;
  std::string alone_phase;  // of `light`; empty: there is none
};
std::optional<MatrixRoles> RolesOf(const Scenario& scenario);

// Means over the records of a cell; absent where one of them has no such figure.
struct MatrixFigures {
  std::optional<double> kept;         // light's rate, as part of what it is alone
  std::optional<double> p99_ns;       // light's latency
  std::optional<double> p99_stretch;  // as a multiple of what it is alone
  std::optional<double> others_iops;  // all other jobs of the phase together
  std::optional<double> price;        // of others_iops: the part that the best cell has more
};
std::vector<MatrixFigures> FiguresOf(const MatrixRoles& roles, std::span<const MatrixCell> cells);

struct MatrixReportInput {
  const Scenario* scenario = nullptr;
  std::span<const MatrixAxis> axes;
  std::span<const MatrixCell> cells;
  std::string folder;   // of all records
  std::string command;  // the whole matrix again
};

// One table, the command of each cell, and protection over price as a picture.
std::string MatrixReport(const MatrixReportInput& input);
// The same figures, one object for each cell.
std::string MatrixJson(const MatrixReportInput& input, int exit_code);

}  // namespace blkfair
