#include "results/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "results/compare/comparable.h"
#include "results/fairness/gates.h"
#include "results/fairness/metric.h"

namespace blkfair {

namespace {

constexpr double kBucket = 1.0 / 256;  // of a histogram
constexpr std::string_view kAllJobs = "all jobs";

constexpr std::array kParams = {
    ParamSpec{.name = "phase",
              .required = true,
              .help = "The phase whose figures are compared",
              .refers = ParamRef::kPhase},
    ParamSpec{.name = "job",
              .required = true,
              .help = "The job, all clones together, or a queue",
              .refers = ParamRef::kJobOrQueue},
    ParamSpec{.name = "metric",
              .type = ParamType::kChoice,
              .required = true,
              .choices = kMetricChoices,
              .help = "What is compared"},
    ParamSpec{.name = "margin",
              .type = ParamType::kPercent,
              .default_text = "5%",
              .min = 0.0001,
              .max = 1,
              .help = "A change within it is none: the two sides are equivalent"},
};

// What one side of a pair has of a metric.
struct Value {
  std::optional<double> value;
  double resolution = 0;  // relative
  std::string absent;
};

Value ValueOf(const Record& record, const std::string& phase_name, const std::string& job,
              const MetricInfo& metric) {
  const PhaseRecord* phase = record.FindPhase(phase_name);
  if (phase == nullptr) return {std::nullopt, 0, "the phase is missing in a record"};
  std::optional<Subject> subject = FindSubject(*phase, job);
  if (job == kAllJobs) {
    subject = Subject{job, phase, nullptr, {}};
    for (const JobRecord& row : phase->jobs) subject->jobs.push_back(&row);
  }
  if (!subject || subject->jobs.empty()) return {std::nullopt, 0, job + " left no figures"};
  const Reading reading = ReadMetric(metric, *subject);
  if (!reading.value) return {std::nullopt, 0, reading.absent};
  Value value{reading.value, 0, {}};
  if (metric.kind == MetricKind::kIops || metric.kind == MetricKind::kBandwidth) {
    value.resolution = reading.ios > 0 ? 1 / static_cast<double>(reading.ios) : 0;
  }
  if (metric.kind == MetricKind::kPercentile) value.resolution = kBucket;
  return value;
}

using Pairs = std::vector<std::pair<const Record*, const Record*>>;

// The k-th repeat of one side with the k-th of the other, as far as both go.
Pairs PairsOf(std::span<const Record> a, std::span<const Record> b) {
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
  Pairs pairs;
  for (size_t i = 0; i < std::min(left.size(), right.size()); i++) {
    pairs.emplace_back(left[i], right[i]);
  }
  return pairs;
}

ComparedMetric Measure(ComparedMetric row, const Pairs& pairs, double confidence) {
  const MetricInfo& metric = MetricByName(row.metric);
  std::vector<double> ratios;
  std::vector<double> logs;
  double resolution = 0;
  double sum_a = 0;
  double sum_b = 0;
  for (const auto& [a, b] : pairs) {
    const Value left = ValueOf(*a, row.phase, row.job, metric);
    const Value right = ValueOf(*b, row.phase, row.job, metric);
    if (!left.value || !right.value) {
      row.why = left.value ? right.absent : left.absent;
      return row;
    }
    sum_a += *left.value;
    sum_b += *right.value;
    resolution = std::max(resolution, left.resolution + right.resolution);
    if (*left.value > 0 && *right.value > 0) {
      ratios.push_back(*right.value / *left.value);
      logs.push_back(std::log(ratios.back()));
    }
  }
  row.pairs = pairs.size();
  if (row.pairs > 0) {
    row.a = sum_a / static_cast<double>(row.pairs);
    row.b = sum_b / static_cast<double>(row.pairs);
  }
  if (ratios.size() < row.pairs || ratios.empty()) {
    row.why = "a zero among the values: no factor";
    return row;
  }
  row.factor = EstimateFactor(ratios, confidence, resolution);
  if (!row.factor) {
    row.why = "one pair of runs has no spread: at least 6 repeats are needed";
    return row;
  }
  row.p = TTestP(logs, 0);
  const std::optional<Estimate> narrower =
      EstimateFactor(ratios, 1 - 2 * (1 - confidence), resolution);
  row.within_margin = narrower->low > 1 / (1 + row.margin) && narrower->high < 1 + row.margin;
  return row;
}

std::string WhatWouldSettle(const ComparedMetric& row, double confidence) {
  // The nearer of the two: shown to be a change, or shown to be none.
  std::optional<size_t> least = RepeatsToDecide(*row.factor, 1, confidence);
  const double margin = row.factor->value > 1 ? 1 + row.margin : 1 / (1 + row.margin);
  if (std::fabs(std::log(row.factor->value)) < std::log1p(row.margin)) {
    const std::optional<size_t> equal = RepeatsToDecide(*row.factor, margin, confidence);
    if (equal && (!least || *equal < *least)) least = equal;
  }
  return least ? fmt::format("about {} repeats would settle it", *least)
               : std::string("no number of repeats is likely to settle it");
}

void Decide(std::vector<ComparedMetric>* rows, double confidence) {
  std::vector<double> p_values;
  std::vector<ComparedMetric*> decided;
  for (ComparedMetric& row : *rows) {
    if (!row.primary) continue;
    row.change = Change::kInconclusive;
    p_values.push_back(row.p);
    decided.push_back(&row);
  }
  const std::vector<bool> significant = HolmSignificant(p_values, 1 - confidence);
  for (size_t i = 0; i < decided.size(); i++) {
    ComparedMetric& row = *decided[i];
    if (!row.factor) continue;
    const bool clear = row.factor->low > 1 || row.factor->high < 1;
    if (row.within_margin) {
      row.change = Change::kEquivalent;
    } else if (significant[i] && clear) {
      const bool up = row.factor->value > 1;
      row.change =
          up == MetricByName(row.metric).higher_is_better ? Change::kBetter : Change::kWorse;
    } else {
      row.why = WhatWouldSettle(row, confidence);
    }
  }
}

std::vector<ComparedMetric> RowsOf(const Scenario& scenario) {
  std::vector<ComparedMetric> rows;
  const auto has = [&](const ComparedMetric& row) {
    return std::any_of(rows.begin(), rows.end(), [&](const ComparedMetric& other) {
      return other.phase == row.phase && other.job == row.job && other.metric == row.metric;
    });
  };
  const auto add = [&](std::string phase, std::string job, std::string metric) {
    ComparedMetric row;
    row.phase = std::move(phase);
    row.job = std::move(job);
    row.metric = std::move(metric);
    if (!has(row)) rows.push_back(std::move(row));
  };
  for (const CompareSpec& spec : scenario.compares) {
    add(spec.params.String("phase"), spec.params.String("job"), spec.params.String("metric"));
    rows.back().primary = true;
    rows.back().margin = spec.params.Number("margin");
  }
  for (const PhaseSpec& phase : scenario.phases) {
    if (phase.solo) continue;
    for (const std::string& job : phase.jobs) {
      for (const char* metric : {"iops", "lat_mean", "lat_p99", "gap"}) {
        add(phase.name, job, metric);
      }
    }
    add(phase.name, std::string(kAllJobs), "iops");
  }
  return rows;
}

std::string Conclusion(const std::vector<ComparedMetric>& rows) {
  std::string text;
  for (const ComparedMetric& row : rows) {
    if (!row.primary) continue;
    if (!text.empty()) text += "; ";
    const std::string size = !row.factor ? std::string()
                             : row.factor->value < 10
                                 ? fmt::format(" ({:+.1f} %)", (row.factor->value - 1) * 100)
                                 : fmt::format(" (x{:.0f})", row.factor->value);
    text += fmt::format("{} {} {}{}", row.job, row.metric, ChangeWord(row.change), size);
  }
  return text.empty() ? "the scenario names no primary metric ([[compare]]): nothing is concluded"
                      : text;
}

int ExitCodeOf(const std::vector<ComparedMetric>& rows) {
  const auto any = [&](Change change) {
    return std::any_of(rows.begin(), rows.end(), [&](const ComparedMetric& row) {
      return row.primary && row.change == change;
    });
  };
  if (any(Change::kWorse)) return 1;
  const bool decides =
      std::any_of(rows.begin(), rows.end(), [](const ComparedMetric& row) { return row.primary; });
  return !decides || any(Change::kInconclusive) ? 4 : 0;
}

}  // namespace

std::span<const ParamSpec> CompareParams() { return kParams; }

std::string_view ChangeWord(Change change) {
  switch (change) {
    case Change::kWorse:
      return "worse";
    case Change::kBetter:
      return "better";
    case Change::kEquivalent:
      return "equivalent";
    case Change::kInconclusive:
      return "inconclusive";
    case Change::kDescriptive:
      return "-";
  }
  CHECK(false);
}

Comparison Compare(const Scenario& scenario, std::span<const Record> a, std::span<const Record> b,
                   const CompareOptions& options) {
  CHECK(!a.empty() && !b.empty());
  Comparison comparison;
  for (const std::span<const Record>& side : {a, b}) {
    for (const Record& record : side) {
      if (record.outcome == RunOutcome::kComplete) continue;
      comparison.conclusion = fmt::format(
          "repeat {} is not complete: {}", record.repeat,
          record.outcome_why.empty() ? RunOutcomeName(record.outcome) : record.outcome_why);
      comparison.exit_code = record.outcome == RunOutcome::kUnmet ? 77 : 3;
      return comparison;
    }
  }
  comparison.differences = DifferencesThatMatter(a.front(), b.front(), options);
  if (!comparison.differences.empty() && !options.force) {
    comparison.conclusion = "not comparable: " + comparison.differences.front();
    comparison.exit_code = 2;
    return comparison;
  }
  const Pairs pairs = PairsOf(a, b);
  for (ComparedMetric& row : RowsOf(scenario)) {
    comparison.metrics.push_back(Measure(std::move(row), pairs, options.confidence));
  }
  Decide(&comparison.metrics, options.confidence);
  comparison.conclusion = Conclusion(comparison.metrics);
  comparison.exit_code = ExitCodeOf(comparison.metrics);
  return comparison;
}

}  // namespace blkfair
