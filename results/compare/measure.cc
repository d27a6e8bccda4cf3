#include "results/compare/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "results/fairness/metric.h"

namespace blkfair {

namespace {

constexpr double kBucket = 1.0 / 256;  // of a histogram

// What one side of a pair has of a metric.
struct Value {
  std::optional<double> value;
  double resolution = 0;  // relative
  std::string absent;
};

Value Absent(std::string why) { return {std::nullopt, 0, std::move(why)}; }

Value ReadFigure(const Record& record, const std::string& phase_name, const std::string& job,
                 const MetricInfo& metric) {
  const PhaseRecord* phase = record.FindPhase(phase_name);
  if (phase == nullptr) return Absent("the phase is missing in a record");
  std::optional<Subject> subject = FindSubject(*phase, job);
  if (job == kAllJobs) {
    subject = Subject{job, phase, nullptr, {}};
    for (const JobRecord& row : phase->jobs) subject->jobs.push_back(&row);
  }
  if (!subject || subject->jobs.empty()) return Absent(job + " left no figures");
  const Reading reading = ReadMetric(metric, *subject);
  if (!reading.value) return Absent(reading.absent);
  Value value{reading.value, 0, {}};
  if (metric.kind == MetricKind::kIops || metric.kind == MetricKind::kBandwidth) {
    value.resolution = reading.ios > 0 ? 1 / static_cast<double>(reading.ios) : 0;
  }
  if (metric.kind == MetricKind::kPercentile) value.resolution = kBucket;
  return value;
}

// I/Os per second that the job does alone, by those beside the others, of the same run.
Value ReadSlowdown(const Scenario& scenario, const Record& record, const ComparedMetric& row) {
  const PhaseSpec* solo = scenario.SoloPhaseOf(row.job, row.phase);
  if (solo == nullptr) return Absent(row.job + " has no phase in which it runs alone");
  const MetricInfo& iops = MetricByName("iops");
  const Value alone = ReadFigure(record, solo->name, row.job, iops);
  const Value shared = ReadFigure(record, row.phase, row.job, iops);
  if (!alone.value || !shared.value) return alone.value ? shared : alone;
  if (*shared.value <= 0) return Absent(row.job + " was starved: no slowdown is that large");
  return {*alone.value / *shared.value, alone.resolution + shared.resolution, {}};
}

Value ValueOf(const Scenario& scenario, const Record& record, const ComparedMetric& row) {
  if (row.metric == kSlowdown) return ReadSlowdown(scenario, record, row);
  return ReadFigure(record, row.phase, row.job, MetricByName(row.metric));
}

ChangeScale ScaleOf(const std::string& metric) {
  if (metric == kSlowdown) return ChangeScale::kFactor;
  switch (MetricByName(metric).kind) {
    case MetricKind::kGap:
    case MetricKind::kMin:
    case MetricKind::kMax:
      return ChangeScale::kMedian;
    case MetricKind::kErrors:
    case MetricKind::kTags:
    case MetricKind::kDepth:
    case MetricKind::kShare:
      return ChangeScale::kDifference;
    default:
      return ChangeScale::kFactor;
  }
}

// The two sides of the pairs of one row.
struct Sides {
  std::vector<double> a;
  std::vector<double> b;
  double resolution = 0;  // relative, of one against the other

  bool AllPositive() const {
    const auto positive = [](double value) { return value > 0; };
    return std::all_of(a.begin(), a.end(), positive) && std::all_of(b.begin(), b.end(), positive);
  }
  std::vector<double> Ratios() const {
    std::vector<double> ratios;
    for (size_t i = 0; i < a.size(); i++) ratios.push_back(b[i] / a[i]);
    return ratios;
  }
  std::vector<double> Differences() const {
    std::vector<double> differences;
    for (size_t i = 0; i < a.size(); i++) differences.push_back(b[i] - a[i]);
    return differences;
  }
};

// At the level of `confidence`, and at that of each of two one-sided tests.
struct TwoEstimates {
  std::optional<Estimate> wide;
  std::optional<Estimate> narrow;
};

TwoEstimates EstimatesOf(const Sides& sides, ChangeScale scale, double a_mean, double confidence) {
  const double narrow = 1 - 2 * (1 - confidence);
  switch (scale) {
    case ChangeScale::kFactor: {
      const std::vector<double> ratios = sides.Ratios();
      return {EstimateFactor(ratios, confidence, sides.resolution),
              EstimateFactor(ratios, narrow, sides.resolution)};
    }
    case ChangeScale::kDifference: {
      const std::vector<double> differences = sides.Differences();
      const double step = sides.resolution * std::fabs(a_mean);
      return {EstimateMean(differences, confidence, step), EstimateMean(differences, narrow, step)};
    }
    case ChangeScale::kMedian: {
      const std::vector<double> ratios = sides.Ratios();
      return {EstimateMedian(ratios, confidence), EstimateMedian(ratios, narrow)};
    }
  }
  CHECK(false);
}

double PValueOf(const Sides& sides, ChangeScale scale) {
  if (scale == ChangeScale::kDifference) return TTestP(sides.Differences(), 0);
  std::vector<double> ratios = sides.Ratios();
  if (scale == ChangeScale::kMedian) return SignTestP(ratios, 1);
  for (double& ratio : ratios) ratio = std::log(ratio);
  return TTestP(ratios, 0);
}

bool IsWithin(const Estimate& estimate, const ComparedMetric& row) {
  if (row.scale == ChangeScale::kDifference) {
    const double margin = row.margin * std::fabs(*row.a);
    return estimate.low >= -margin && estimate.high <= margin;
  }
  return estimate.low > 1 / (1 + row.margin) && estimate.high < 1 + row.margin;
}

}  // namespace

RecordPairs PairsOf(std::span<const Record> a, std::span<const Record> b) {
  const auto sorted = [](std::span<const Record> side) {
    std::vector<const Record*> records;
    for (const Record& record : side) records.push_back(&record);
    std::stable_sort(records.begin(), records.end(), [](const Record* left, const Record* right) {
      return left->repeat < right->repeat;
    });
    return records;
  };
  const std::vector<const Record*> left = sorted(a);
  const std::vector<const Record*> right = sorted(b);
  RecordPairs pairs;
  for (size_t i = 0; i < std::min(left.size(), right.size()); i++) {
    pairs.emplace_back(left[i], right[i]);
  }
  return pairs;
}

ComparedMetric Measure(const Scenario& scenario, ComparedMetric row, const RecordPairs& pairs,
                       double confidence) {
  Sides sides;
  for (const auto& [a, b] : pairs) {
    const Value left = ValueOf(scenario, *a, row);
    const Value right = ValueOf(scenario, *b, row);
    if (!left.value || !right.value) {
      row.why = left.value ? right.absent : left.absent;
      return row;
    }
    sides.a.push_back(*left.value);
    sides.b.push_back(*right.value);
    sides.resolution = std::max(sides.resolution, left.resolution + right.resolution);
  }
  row.pairs = pairs.size();
  CHECK(row.pairs > 0);
  row.a = Summarise(sides.a).mean;
  row.b = Summarise(sides.b).mean;
  row.scale = sides.AllPositive() ? ScaleOf(row.metric) : ChangeScale::kDifference;
  if (row.pairs == 1) {
    row.why = "one run of each side has no spread: at least 6 repeats are needed";
    return row;
  }
  const TwoEstimates estimates = EstimatesOf(sides, row.scale, *row.a, confidence);
  if (!estimates.wide || !estimates.narrow) {
    row.why = fmt::format("{} repeats hold no median with confidence: 6 would", row.pairs);
    return row;
  }
  row.effect = estimates.wide;
  row.p = PValueOf(sides, row.scale);
  row.within_margin = IsWithin(*estimates.narrow, row);
  return row;
}

std::optional<size_t> RepeatsThatSettle(const ComparedMetric& row, double alpha) {
  const Estimate& effect = *row.effect;
  if (row.scale == ChangeScale::kMedian) {
    const size_t fewest = RepeatsForSigns(alpha);
    return row.Clear() && fewest > row.pairs ? std::optional(fewest) : std::nullopt;
  }
  const bool difference = row.scale == ChangeScale::kDifference;
  const double none = difference ? 0 : 1;
  const bool up = effect.value > none;
  const double margin = difference ? (up ? 1 : -1) * row.margin * std::fabs(*row.a)
                        : up       ? 1 + row.margin
                                   : 1 / (1 + row.margin);
  // The nearer of the two: shown to be a change, or shown to be none.
  std::optional<size_t> least = RepeatsToDecide(effect, none, 1 - alpha);
  const bool inside = up ? effect.value < margin : effect.value > margin;
  if (inside) {
    const std::optional<size_t> equal = RepeatsToDecide(effect, margin, 1 - 2 * alpha);
    if (equal && (!least || *equal < *least)) least = equal;
  }
  return least;
}

}  // namespace blkfair
