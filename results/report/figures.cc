#include "results/report/figures.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "results/statistics.h"

namespace blkfair {

std::optional<double> MeanFigure(std::span<const Record> records, const std::string& phase,
                                 const std::string& subject, const MetricInfo& metric) {
  std::vector<double> values;
  for (const Record& record : records) {
    const PhaseRecord* row = record.FindPhase(phase);
    const std::optional<Subject> found = row == nullptr ? std::nullopt : FindSubject(*row, subject);
    if (!found) return std::nullopt;
    const Reading reading = ReadMetric(metric, *found);
    if (!reading.value) return std::nullopt;
    values.push_back(*reading.value);
  }
  if (values.empty()) return std::nullopt;
  return Summarise(values).mean;
}

std::optional<double> LeastFigure(std::span<const Record> records, const std::string& phase,
                                  const std::string& subject, const MetricInfo& metric) {
  std::vector<double> values;
  for (const Record& record : records) {
    const PhaseRecord* row = record.FindPhase(phase);
    const std::optional<Subject> found = row == nullptr ? std::nullopt : FindSubject(*row, subject);
    if (!found) return std::nullopt;
    const Reading reading = ReadMetric(metric, *found);
    if (!reading.value && !reading.at_least) return std::nullopt;
    values.push_back(reading.value ? *reading.value : *reading.at_least);
  }
  if (values.empty()) return std::nullopt;
  return Summarise(values).mean;
}

std::vector<std::string> PhaseNames(std::span<const Record> records) {
  std::vector<std::string> names;
  for (const Record& record : records) {
    for (const PhaseRecord& phase : record.phases) {
      if (std::find(names.begin(), names.end(), phase.name) == names.end()) {
        names.push_back(phase.name);
      }
    }
  }
  return names;
}

const PhaseRecord& AnyPhase(std::span<const Record> records, const std::string& phase) {
  for (const Record& record : records) {
    if (const PhaseRecord* row = record.FindPhase(phase)) return *row;
  }
  CHECK(false);
}

std::vector<const JobRecord*> JobsOf(const PhaseRecord& phase) {
  std::vector<const JobRecord*> jobs;
  std::set<std::string> seen;
  for (const JobRecord& job : phase.jobs) {
    if (seen.insert(job.job).second) jobs.push_back(&job);
  }
  return jobs;
}

}  // namespace blkfair
