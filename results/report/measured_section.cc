#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

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
  if (!value) {
    const std::optional<double> least = LeastFigure(records, phase, job, metric);
    return least ? ">= " + FormatMetric(metric, *least) : "-";
  }
  if (metric.kind == MetricKind::kGap && IsCensored(records, phase, job)) {
    return ">" + FormatMetric(metric, *value);
  }
  const bool level = metric.kind == MetricKind::kTags || metric.kind == MetricKind::kDepth;
  return level ? fmt::format("{:.1f}", *value) : FormatMetric(metric, *value);
}

using Keys = std::set<std::string, std::less<>>;

// What a job is; `varied` are the keys that its rows differ in.
std::string JobHeading(const JobSpec* spec, const JobRecord& job, const Keys& varied) {
  std::string heading = fmt::format("  {}:", job.job);
  const auto add = [&](std::string_view key, const std::string& text) {
    if (varied.count(key) > 0) return;
    heading += fmt::format("{}{}", heading.ends_with(':') ? " " : ", ", text);
  };
  add("queue", job.queue);
  add("engine", job.engine);
  if (spec != nullptr) {
    add("rw", std::string(RwName(spec->rw)));
    if (varied.count("bs") == 0) {
      heading += fmt::format(" of {}", FormatSize(static_cast<int64_t>(spec->bs_bytes)));
    }
    if (Trims(spec->rw) && spec->trim == TrimWay::kIoctl) add("trim", "by ioctl");
    if (spec->batch_submit > 1 || spec->batch_complete > 1) {
      add("batch_submit",
          fmt::format("batches of {}/{}", spec->batch_submit, spec->batch_complete));
    }
    const bool processes = spec->isolation == Isolation::kProcess && varied.count("isolation") == 0;
    if (processes) {
      add("numjobs", spec->numjobs > 1 ? fmt::format("{} processes", spec->numjobs) : "a process");
    } else if (spec->numjobs > 1) {
      add("numjobs", fmt::format("{} clones", spec->numjobs));
    }
    if (spec->rate_iops > 0) {
      add("rate_iops",
          fmt::format("{:g} a second ({})", spec->rate_iops, RateProcessName(spec->rate_process)));
    }
    if (spec->think_time_ns > 0) {
      add("think_time", fmt::format("a pause of {}", FormatDuration(spec->think_time_ns)));
    }
  }
  add("iodepth", fmt::format("iodepth {}", spec != nullptr ? spec->iodepth : job.iodepth));
  return Clip(heading, kReportColumns);
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
  std::string ended;
  for (const Record& record : records) {
    const PhaseRecord* row = record.FindPhase(phase);
    if (row == nullptr) continue;
    for (const JobRecord& clone : row->jobs) {
      if (clone.job != job) continue;
      for (const auto& [what, count] : clone.errors) counts[what] += count;
      if (ended.empty()) ended = clone.ended_early;
      if (clone.outstanding > 0) counts["never came back"] += clone.outstanding;
      if (clone.clock_anomalies > 0) counts["impossible time"] += clone.clock_anomalies;
    }
  }
  std::string line;
  for (const auto& [what, count] : counts) {
    line += fmt::format("{}{} x {}", line.empty() ? "      errors: " : ", ", count, what);
  }
  if (!ended.empty()) line += (line.empty() ? "      " : "; ") + ended;
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

// Which jobs have clat from the same moment on, where that is not so for all of them.
std::string ClatNote(const std::vector<const JobRecord*>& jobs) {
  std::vector<std::pair<std::string, std::string>> points;  // where issue is stamped, whose
  for (const JobRecord* job : jobs) {
    const auto same = std::find_if(points.begin(), points.end(), [&](const auto& point) {
      return point.first == job->issue_point;
    });
    if (same != points.end()) {
      same->second += ", " + job->job;
    } else {
      points.emplace_back(job->issue_point, job->job);
    }
  }
  if (points.size() < 2) return {};
  std::string note = "    clat of these jobs cannot be compared, lat can: issue is stamped\n";
  for (const auto& [point, whose] : points) {
    for (const std::string& line : WrapText(point + " (" + whose + ")", kReportColumns - 6)) {
      note += "      " + line + "\n";
    }
  }
  return note;
}

// What an open-loop job adds to a row: latencies from when its I/Os were due, and how it kept its
// rate in the first record.
std::vector<std::string> ResponseLines(std::span<const Record> records, const std::string& phase,
                                       const std::string& job) {
  OpenLoopRecord sum;
  bool open = false;
  for (const JobRecord& clone : AnyPhase(records, phase).jobs) {
    if (clone.job != job || !clone.open_loop) continue;
    open = true;
    sum.due += clone.open_loop->due;
    sum.late += clone.open_loop->late;
    sum.backlog_max += clone.open_loop->backlog_max;
    sum.backlog_at_close += clone.open_loop->backlog_at_close;
  }
  if (!open) return {};
  const auto cell = [&](const char* metric) { return Cell(records, phase, job, metric); };
  return {
      fmt::format("      response {}, p50 {}, p95 {}, p99 {}, max {}", cell("response_mean"),
                  cell("response_p50"), cell("response_p95"), cell("response_p99"),
                  cell("response_max")),
      fmt::format("      {} of {} found no free slot when they were due; backlog {} at most, {} at "
                  "the end",
                  sum.late, sum.due, sum.backlog_max, sum.backlog_at_close)};
}

// The first column, then one for each of kColumns.
TextTable NewTable(const std::string& title) {
  std::vector<Align> aligns(1 + std::size(kColumns), Align::kRight);
  aligns[0] = Align::kLeft;
  TextTable table(aligns, 4);
  table.Limit(0, 24);
  table.Shrink(0);
  std::vector<std::string> titles = {title};
  for (const Column& column : kColumns) titles.emplace_back(column.title);
  table.Row(std::move(titles));
  return table;
}

void AppendRow(const ReportInput& input, const PhaseRecord& phase, const std::string& label,
               const std::string& job, TextTable* table) {
  std::vector<std::string> cells = {label + (phase.partial ? "*" : "")};
  for (const Column& column : kColumns) {
    cells.push_back(Cell(input.records, phase.name, job, column.metric));
  }
  table->Row(std::move(cells));
}

// The keys that a phase sets, where it is no step of a sweep.
std::string SettingsLine(const Scenario& scenario, const std::string& phase,
                         const std::string& job) {
  const PhaseSpec* spec = scenario.FindPhase(phase);
  std::string line;
  for (const JobSetting& setting : spec == nullptr ? std::vector<JobSetting>() : spec->settings) {
    if (setting.job != job) continue;
    line +=
        fmt::format("{}{} = {}", line.empty() ? "      with " : ", ", setting.key, setting.value);
  }
  return Clip(line, kReportColumns);
}

std::string PlainPhases(const ReportInput& input, const std::vector<std::string>& phases) {
  TextTable table = NewTable("phase");
  for (const JobRecord* job : AllJobs(input.records, phases)) {
    table.Line(JobHeading(input.scenario->FindJob(job->job), *job, {}));
    for (const std::string& name : phases) {
      const PhaseRecord& phase = AnyPhase(input.records, name);
      if (!FindSubject(phase, job->job)) continue;
      AppendRow(input, phase, name, job->job, &table);
      std::vector<std::string> lines = ResponseLines(input.records, name, job->job);
      lines.insert(lines.begin(), SettingsLine(*input.scenario, name, job->job));
      lines.push_back(ClonesLine(phase, job->job).value_or(""));
      lines.push_back(TroubleLine(input.records, name, job->job));
      for (const std::string& line : lines) {
        if (!line.empty()) table.Line(line);
      }
    }
  }
  return table.ToString() + Labelled("    windows:", Windows(input.records, phases), kLabelColumns);
}

// What the steps of a sweep differ in: the keys, and for each step their values.
struct Varied {
  Keys keys;
  std::string title;                          // "isolation, iodepth"
  std::map<std::string, std::string> labels;  // by step: "thread, 32"
};

Varied VariedIn(const Scenario& scenario, const std::vector<std::string>& steps) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> values;  // by job and key
  for (const std::string& step : steps) {
    for (const JobSetting& setting : scenario.FindPhase(step)->settings) {
      values[{setting.job, setting.key}].insert(setting.value);
    }
  }
  Varied varied;
  for (const std::string& step : steps) {
    std::string& label = varied.labels[step];
    std::set<std::pair<std::string, std::string>> told;  // a key that jobs share is told once
    for (const JobSetting& setting : scenario.FindPhase(step)->settings) {
      if (values[{setting.job, setting.key}].size() < 2) continue;
      if (varied.keys.insert(setting.key).second) {
        varied.title += (varied.title.empty() ? "" : ", ") + setting.key;
      }
      if (!told.emplace(setting.key, setting.value).second) continue;
      std::string value = setting.value;
      std::erase(value, '"');
      label += (label.empty() ? "" : ", ") + value;
    }
  }
  return varied;
}

std::string SweepTable(const ReportInput& input, const std::string& sweep,
                       const std::vector<std::string>& steps) {
  const Varied varied = VariedIn(*input.scenario, steps);
  TextTable table = NewTable(varied.title.empty() ? "step" : varied.title);
  for (const JobRecord* job : AllJobs(input.records, steps)) {
    table.Line(JobHeading(input.scenario->JobInPhase(steps.front(), job->job), *job, varied.keys));
    for (const std::string& step : steps) {
      const PhaseRecord& phase = AnyPhase(input.records, step);
      if (!FindSubject(phase, job->job)) continue;
      const std::string& label = varied.labels.at(step);
      AppendRow(input, phase, label.empty() ? step : label, job->job, &table);
      for (const std::string& line : ResponseLines(input.records, step, job->job)) {
        table.Line(line);
      }
      const std::string trouble = TroubleLine(input.records, step, job->job);
      if (!trouble.empty()) table.Line(trouble);
    }
  }
  const PhaseRecord& first = AnyPhase(input.records, steps.front());
  return fmt::format("\n    sweep {}, {} steps, the first with a window of {}\n", sweep,
                     steps.size(), HumanDuration(static_cast<double>(first.window_ns()))) +
         table.ToString();
}

}  // namespace

std::string MeasuredSection(const ReportInput& input) {
  const std::vector<std::string> phases = PhaseNames(input.records);
  if (phases.empty()) return Labelled("Measured", "nothing", kLabelColumns);
  std::vector<std::string> plain;
  std::vector<std::pair<std::string, std::vector<std::string>>> sweeps;
  for (const std::string& name : phases) {
    const PhaseSpec* spec = input.scenario->FindPhase(name);
    if (spec == nullptr || spec->sweep_of.empty()) {
      plain.push_back(name);
    } else if (!sweeps.empty() && sweeps.back().first == spec->sweep_of) {
      sweeps.back().second.push_back(name);
    } else {
      sweeps.emplace_back(spec->sweep_of, std::vector{name});
    }
  }
  std::string out = input.records.size() == 1
                        ? "Measured\n"
                        : fmt::format("Measured (means over {} records)\n", input.records.size());
  if (!plain.empty()) out += PlainPhases(input, plain);
  for (const auto& [sweep, steps] : sweeps) out += SweepTable(input, sweep, steps);
  const bool any_partial = std::any_of(phases.begin(), phases.end(), [&](const std::string& name) {
    return AnyPhase(input.records, name).partial;
  });
  if (any_partial) out += "    * cut short: the window is shorter than asked\n";
  return out + ClatNote(AllJobs(input.records, phases));
}

}  // namespace blkfair
