#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/units.h"
#include "results/fairness/division.h"
#include "results/report/figures.h"
#include "results/report/layout.h"
#include "results/report/text_sections.h"
#include "results/statistics.h"

namespace blkfair {

namespace {

struct Column {
  const char* title;
  const char* metric;
};
constexpr Column kColumns[] = {{"iops", "iops"},   {"bw", "bw"},       {"mean lat", "lat_mean"},
                               {"p50", "lat_p50"}, {"p99", "lat_p99"}, {"max", "lat_max"},
                               {"gap", "gap"},     {"tags", "tags"},   {"depth", "depth"}};

// The longest gap was still going on when a window closed: it may have been longer.
bool IsCensored(std::span<const Record> records, const std::string& phase, const std::string& job) {
  for (const Record& record : records) {
    const PhaseRecord* row = record.FindPhase(phase);
    const std::optional<Subject> subject = row == nullptr ? std::nullopt : FindSubject(*row, job);
    if (!subject) continue;
    const JobRecord* worst = *std::max_element(
        subject->jobs.begin(), subject->jobs.end(),
        [](const JobRecord* a, const JobRecord* b) { return a->gap_max_ns < b->gap_max_ns; });
    if (worst->gap_censored) return true;
  }
  return false;
}

std::string Cell(std::span<const Record> records, const std::string& phase, const std::string& job,
                 const char* metric_name) {
  const MetricInfo& metric = MetricByName(metric_name);
  const std::optional<double> value = MeanFigure(records, phase, job, metric);
  if (!value) return "-";
  if (metric.kind == MetricKind::kGap && IsCensored(records, phase, job)) {
    return ">" + FormatMetric(metric, *value);
  }
  const bool level = metric.kind == MetricKind::kTags || metric.kind == MetricKind::kDepth;
  return level ? fmt::format("{:.1f}", *value) : FormatMetric(metric, *value);
}

std::string JobHeading(const Scenario& scenario, const JobRecord& job) {
  const JobSpec* spec = scenario.FindJob(job.job);
  std::string heading = fmt::format("  {}: {}, {}", job.job, job.queue, job.engine);
  if (spec != nullptr) {
    heading += fmt::format(", {} of {}", RwName(spec->rw),
                           FormatSize(static_cast<int64_t>(spec->bs_bytes)));
    if (spec->numjobs > 1) heading += fmt::format(", {} clones", spec->numjobs);
    if (spec->think_time_ns > 0) {
      heading += fmt::format(", a pause of {}", FormatDuration(spec->think_time_ns));
    }
  }
  return Clip(heading + fmt::format(", iodepth {}", job.iodepth), kReportColumns);
}

// How the clones of one job fared against each other, in the first record.
std::optional<std::string> ClonesLine(const PhaseRecord& phase, const std::string& job) {
  const std::vector<Subject> clones = ClonesOf(phase, job);
  if (clones.size() < 2) return std::nullopt;
  std::vector<double> iops;
  for (const Subject& clone : clones) {
    iops.push_back(ReadMetric(MetricByName("iops"), clone).value.value_or(0));
  }
  const auto [min, max] = std::minmax_element(iops.begin(), iops.end());
  const std::optional<double> jain = Jain(iops);
  return fmt::format("      each clone: {} to {} IOPS, Jain {}", HumanCount(*min), HumanCount(*max),
                     jain ? fmt::format("{:.3f}", *jain) : "-");
}

// What went wrong with the I/O of a job, over all records; empty when nothing did.
std::string TroubleLine(std::span<const Record> records, const std::string& phase,
                        const std::string& job) {
  std::map<std::string, uint64_t> counts;
  for (const Record& record : records) {
    const PhaseRecord* row = record.FindPhase(phase);
    if (row == nullptr) continue;
    for (const JobRecord& clone : row->jobs) {
      if (clone.job != job) continue;
      for (const auto& [what, count] : clone.errors) counts[what] += count;
      if (clone.outstanding > 0) counts["never came back"] += clone.outstanding;
      if (clone.clock_anomalies > 0) counts["impossible time"] += clone.clock_anomalies;
    }
  }
  std::string line;
  for (const auto& [what, count] : counts) {
    line += fmt::format("{}{} x {}", line.empty() ? "      errors: " : ", ", count, what);
  }
  return Clip(line, kReportColumns);
}

// "solo_light 4 s, contention 6 s".
std::string Windows(std::span<const Record> records, const std::vector<std::string>& phases) {
  std::string text;
  for (const std::string& name : phases) {
    const auto window_ns = static_cast<double>(AnyPhase(records, name).window_ns());
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, HumanDuration(window_ns));
  }
  return text;
}

// Every job that any phase holds, in the order of their first appearance.
std::vector<const JobRecord*> AllJobs(std::span<const Record> records,
                                      const std::vector<std::string>& phases) {
  std::vector<const JobRecord*> jobs;
  std::set<std::string> seen;
  for (const std::string& phase : phases) {
    for (const JobRecord* job : JobsOf(AnyPhase(records, phase))) {
      if (seen.insert(job->job).second) jobs.push_back(job);
    }
  }
  return jobs;
}

// How the tags of a set were counted: the same for all its queues. Null when they were not.
const OccupancyRecord* AnyOccupancy(const PhaseRecord& phase, const std::string& fixture) {
  for (const QueueRecord& queue : phase.queues) {
    if (queue.occupancy && queue.queue.starts_with(fixture + ":")) return &*queue.occupancy;
  }
  return nullptr;
}

}  // namespace

std::string MeasuredSection(const ReportInput& input) {
  const std::vector<std::string> phases = PhaseNames(input.records);
  if (phases.empty()) return Labelled("Measured", "nothing", kLabelColumns);
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight},
                  4);
  table.Limit(0, 24);
  table.Shrink(0);
  std::vector<std::string> titles = {"phase"};
  for (const Column& column : kColumns) titles.emplace_back(column.title);
  table.Row(std::move(titles));
  bool any_partial = false;
  for (const JobRecord* job : AllJobs(input.records, phases)) {
    table.Line(JobHeading(*input.scenario, *job));
    for (const std::string& name : phases) {
      const PhaseRecord& phase = AnyPhase(input.records, name);
      if (!FindSubject(phase, job->job)) continue;
      std::vector<std::string> cells = {name + (phase.partial ? "*" : "")};
      any_partial = any_partial || phase.partial;
      for (const Column& column : kColumns) {
        cells.push_back(Cell(input.records, name, job->job, column.metric));
      }
      table.Row(std::move(cells));
      if (const auto line = ClonesLine(phase, job->job)) table.Line(*line);
      const std::string trouble = TroubleLine(input.records, name, job->job);
      if (!trouble.empty()) table.Line(trouble);
    }
  }
  std::string out = input.records.size() == 1
                        ? "Measured\n"
                        : fmt::format("Measured (means over {} records)\n", input.records.size());
  out += table.ToString();
  out += Labelled("    windows:", Windows(input.records, phases), kLabelColumns);
  if (any_partial) out += "    * cut short: the window is shorter than asked\n";
  return out;
}

std::string TagSetSection(const ReportInput& input) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight, Align::kLeft},
                  4);
  table.Limit(0, 24);
  table.Shrink(1);
  table.Row({"phase", "tag set", "demand", "usable", "contended", "active queues", "tags counted"});
  bool any = false;
  for (const std::string& name : PhaseNames(input.records)) {
    const PhaseRecord& phase = AnyPhase(input.records, name);
    for (const TagSetPhaseRecord& set : phase.tag_sets) {
      any = true;
      const auto users =
          std::count_if(phase.queues.begin(), phase.queues.end(), [&](const QueueRecord& queue) {
            return FixtureOfQueue(queue.queue) == set.fixture && queue.demand > 0;
          });
      const std::string contended =
          set.samples == 0 ? "-"
          : users < 2      ? "one queue alone"
                           : fmt::format("{} of {} samples", set.samples_contended, set.samples);
      const OccupancyRecord* occupancy = AnyOccupancy(phase, set.fixture);
      table.Row({name, set.fixture, std::to_string(set.demand), std::to_string(set.usable_tags),
                 contended,
                 set.active_queues_mean ? fmt::format("{:.1f}", *set.active_queues_mean) : "-",
                 occupancy == nullptr ? "-" : "by " + occupancy->source});
      if (occupancy == nullptr || occupancy->why.empty()) continue;
      for (const std::string& line : WrapText(occupancy->why, kReportColumns - 10)) {
        table.Line("          " + line);
      }
    }
  }
  return any ? "Tag sets\n" + table.ToString() : "";
}

}  // namespace blkfair
