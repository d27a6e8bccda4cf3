#include "results/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "results/compare/comparable.h"
#include "results/compare/measure.h"
#include "results/fairness/gates.h"
#include "results/fairness/metric.h"

namespace blkfair {

namespace {

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

void SayWhatWouldSettle(ComparedMetric* row, double alpha) {
  row->repeats_needed = RepeatsThatSettle(*row, alpha);
  row->why = row->repeats_needed
                 ? fmt::format("about {} repeats would settle it", *row->repeats_needed)
             : row->scale == ChangeScale::kMedian
                 ? std::string("the pairs disagree: more repeats may settle it")
                 : std::string("no number of repeats is likely to settle it");
}

void Decide(std::vector<ComparedMetric>* rows, double confidence) {
  std::vector<double> p_values;
  std::vector<ComparedMetric*> decided;
  for (ComparedMetric& row : *rows) {
    if (!row.primary) continue;
    row.change = row.pairs == 1 ? Change::kUnknown : Change::kInconclusive;
    p_values.push_back(row.p);
    decided.push_back(&row);
  }
  const std::vector<bool> significant = HolmSignificant(p_values, 1 - confidence);
  for (size_t i = 0; i < decided.size(); i++) {
    ComparedMetric& row = *decided[i];
    if (!row.effect) continue;
    if (row.within_margin) {
      row.change = Change::kEquivalent;
    } else if (significant[i] && row.Clear()) {
      const bool up = row.effect->value > (row.scale == ChangeScale::kDifference ? 0 : 1);
      row.change = up == row.higher_is_better() ? Change::kBetter : Change::kWorse;
    } else {
      // By the first and strictest step of Holm's: it is not known which one it will be.
      SayWhatWouldSettle(&row, (1 - confidence) / static_cast<double>(decided.size()));
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
      if (scenario.SoloPhaseOf(job, phase.name) != nullptr) {
        add(phase.name, job, std::string(kSlowdown));
      }
    }
    add(phase.name, std::string(kAllJobs), "iops");
    add(phase.name, std::string(kAllJobs), "cpu");
  }
  return rows;
}

// " (+5.7 %)", " (x12)"; nothing where A has none of it.
std::string SizeOf(const ComparedMetric& row) {
  const std::optional<double> factor = row.Factor();
  if (!factor) return {};
  return *factor < 10 ? fmt::format(" ({:+.1f} %)", (*factor - 1) * 100)
                      : fmt::format(" (x{:.0f})", *factor);
}

// Of one run of each side nothing is concluded, but what changed is said: of the primary metrics,
// or of every job's rate.
std::string UnknownConclusion(const std::vector<ComparedMetric>& rows) {
  const bool decides =
      std::any_of(rows.begin(), rows.end(), [](const ComparedMetric& row) { return row.primary; });
  std::string text;
  for (const ComparedMetric& row : rows) {
    const bool named = decides ? row.primary : row.metric == "iops" && row.job != kAllJobs;
    if (!named || row.pairs == 0) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", row.job, row.metric, SizeOf(row));
  }
  return fmt::format(
      "change, confidence unknown: {}; one run of each side has no spread, at "
      "least 6 repeats are needed",
      text.empty() ? "no figure was measured on both sides" : text);
}

std::string Conclusion(const std::vector<ComparedMetric>& rows, size_t pairs) {
  if (pairs == 1) return UnknownConclusion(rows);
  std::string text;
  for (const ComparedMetric& row : rows) {
    if (!row.primary) continue;
    text += fmt::format("{}{} {} {}{}", text.empty() ? "" : "; ", row.job, row.metric,
                        ChangeWord(row.change), SizeOf(row));
  }
  return text.empty() ? "the scenario names no primary metric ([[compare]]): nothing is concluded"
                      : text;
}

// Repeats of one side that are not of one thing: another build of the kernel in between, say.
std::vector<std::string> DifferencesWithin(const char* side, std::span<const Record> records,
                                           CompareOptions options) {
  options.kernels_differ = false;
  for (const Record& record : records.subspan(1)) {
    std::vector<std::string> differences = MachineDifferences(records.front(), record, options);
    if (differences.empty()) continue;
    return {fmt::format("repeats {} and {} of {}: {}", records.front().repeat, record.repeat, side,
                        differences.front())};
  }
  return {};
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
  return !decides || any(Change::kInconclusive) || any(Change::kUnknown) ? 4 : 0;
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
    case Change::kUnknown:
      return "unknown";
    case Change::kDescriptive:
      return "-";
  }
  CHECK(false);
}

bool ComparedMetric::higher_is_better() const {
  return metric != kSlowdown && MetricByName(metric).higher_is_better;
}

bool ComparedMetric::Clear() const {
  const double none = scale == ChangeScale::kDifference ? 0 : 1;
  return effect && (effect->low > none || effect->high < none);
}

std::optional<double> ComparedMetric::Factor() const {
  if (effect && scale != ChangeScale::kDifference) return effect->value;
  if (!a || !b || *a <= 0) return std::nullopt;
  return *b / *a;
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
  for (std::string& difference : DifferencesWithin("A", a, options)) {
    comparison.differences.push_back(std::move(difference));
  }
  for (std::string& difference : DifferencesWithin("B", b, options)) {
    comparison.differences.push_back(std::move(difference));
  }
  comparison.warnings = AuditWarnings(a, b, options);
  if (!comparison.differences.empty() && !options.force) {
    comparison.conclusion = "not comparable: " + comparison.differences.front();
    comparison.exit_code = 2;
    return comparison;
  }
  const RecordPairs pairs = PairsOf(a, b);
  for (ComparedMetric& row : RowsOf(scenario)) {
    comparison.metrics.push_back(Measure(scenario, std::move(row), pairs, options.confidence));
  }
  Decide(&comparison.metrics, options.confidence);
  comparison.conclusion = Conclusion(comparison.metrics, pairs.size());
  comparison.exit_code = ExitCodeOf(comparison.metrics);
  return comparison;
}

}  // namespace blkfair
