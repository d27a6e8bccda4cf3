// The figures of a report: what a job or queue got in a phase, as the mean over the records. Absent
// where one of the records has none. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/fairness/metric.h"
#include "results/record.h"

namespace blkfair {

std::optional<double> MeanFigure(std::span<const Record> records, const std::string& phase,
                                 const std::string& subject, const MetricInfo& metric);

// Instead of the mean: where some of the records know no more than that a latency is no less than
// so much, what the mean is no less than.
std::optional<double> LeastFigure(std::span<const Record> records, const std::string& phase,
                                  const std::string& subject, const MetricInfo& metric);

// The names of the phases that any of the records holds, in order.
std::vector<std::string> PhaseNames(std::span<const Record> records);
// The first record's row of that phase, or of the first that has it. CHECK-fails without any.
const PhaseRecord& AnyPhase(std::span<const Record> records, const std::string& phase);
// The jobs of a phase, each once.
std::vector<const JobRecord*> JobsOf(const PhaseRecord& phase);

}  // namespace blkfair
