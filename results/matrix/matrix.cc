#include "results/matrix/matrix.h"

#include <algorithm>
#include <functional>

#include "results/fairness/metric.h"

namespace blkfair {
namespace {

using Read = std::function<std::optional<double>(const Record&)>;

std::optional<double> MeanOf(std::span<const Record> records, const Read& read) {
  double sum = 0;
  for (const Record& record : records) {
    const std::optional<double> value = read(record);
    if (!value) return std::nullopt;
    sum += *value;
  }
  if (records.empty()) return std::nullopt;
  return sum / static_cast<double>(records.size());
}

std::optional<double> Figure(const Record& record, const std::string& phase_name,
                             const std::string& job, std::string_view metric) {
  const PhaseRecord* phase = record.FindPhase(phase_name);
  if (phase == nullptr) return std::nullopt;
  const std::optional<Subject> subject = FindSubject(*phase, job);
  if (!subject) return std::nullopt;
  return ReadMetric(MetricByName(metric), *subject).value;
}

std::optional<double> Part(const std::optional<double>& of, const std::optional<double>& whole) {
  if (!of || !whole || *whole <= 0) return std::nullopt;
  return *of / *whole;
}

std::optional<double> IopsOfOthers(const Record& record, const MatrixRoles& roles) {
  const PhaseRecord* phase = record.FindPhase(roles.shared_phase);
  if (phase == nullptr) return std::nullopt;
  Subject others{"others", phase, nullptr, {}};
  for (const JobRecord& job : phase->jobs) {
    if (job.job != roles.light) others.jobs.push_back(&job);
  }
  if (others.jobs.empty()) return std::nullopt;
  return ReadMetric(MetricByName("iops"), others).value;
}

}  // namespace

std::optional<MatrixAxis> ParseMatrixAxis(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  MatrixAxis axis{std::string(text.substr(0, equals)), {}};
  std::string value;
  int depth = 0;
  bool quoted = false;
  for (const char c : text.substr(equals + 1)) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '[') depth++;
    if (!quoted && c == ']') depth--;
    if (c == ',' && depth == 0 && !quoted) {
      axis.values.push_back(std::move(value));
      value.clear();
    } else {
      value += c;
    }
  }
  axis.values.push_back(std::move(value));
  const bool empty = std::any_of(axis.values.begin(), axis.values.end(),
                                 [](const std::string& one) { return one.empty(); });
  if (empty) return std::nullopt;
  return axis;
}

std::vector<std::vector<std::string>> MatrixGrid(std::span<const MatrixAxis> axes) {
  std::vector<std::vector<std::string>> grid = {{}};
  for (const MatrixAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& values : grid) {
      for (const std::string& value : axis.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    grid = std::move(longer);
  }
  return grid;
}

std::optional<MatrixRoles> RolesOf(const Scenario& scenario) {
  for (const PhaseSpec& phase : scenario.phases) {
    if (phase.solo || phase.jobs.size() < 2) continue;
    const auto demand = [&](const std::string& name) {
      const JobSpec* job = scenario.JobInPhase(phase, name);
      return uint64_t{job->iodepth} * job->numjobs;
    };
    const auto light = std::min_element(
        phase.jobs.begin(), phase.jobs.end(),
        [&](const std::string& a, const std::string& b) { return demand(a) < demand(b); });
    const PhaseSpec* alone = scenario.SoloPhaseOf(*light, phase.name);
    return MatrixRoles{*light, phase.name, alone == nullptr ? std::string() : alone->name};
  }
  return std::nullopt;
}

std::vector<MatrixFigures> FiguresOf(const MatrixRoles& roles, std::span<const MatrixCell> cells) {
  std::vector<MatrixFigures> figures;
  std::optional<double> best;
  for (const MatrixCell& cell : cells) {
    const auto mean = [&](const std::string& phase, std::string_view metric) {
      return MeanOf(cell.records, [&](const Record& record) {
        return Figure(record, phase, roles.light, metric);
      });
    };
    MatrixFigures row;
    row.kept = Part(mean(roles.shared_phase, "iops"), mean(roles.alone_phase, "iops"));
    row.p99_ns = mean(roles.shared_phase, "lat_p99");
    row.p99_stretch = Part(row.p99_ns, mean(roles.alone_phase, "lat_p99"));
    row.others_iops =
        MeanOf(cell.records, [&](const Record& record) { return IopsOfOthers(record, roles); });
    if (row.others_iops && (!best || *row.others_iops > *best)) best = row.others_iops;
    figures.push_back(row);
  }
  for (MatrixFigures& row : figures) {
    if (const auto part = Part(row.others_iops, best)) row.price = 1 - *part;
  }
  return figures;
}

}  // namespace blkfair
