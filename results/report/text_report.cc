#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "base/units.h"
#include "results/report/layout.h"
#include "results/report/report.h"
#include "results/report/text_sections.h"

namespace blkfair {

namespace {

constexpr size_t kHashShown = 12;
constexpr size_t kNameColumnsMax = 26;

std::string Plural(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

// "2 pass, 1 fail, 1 inconclusive".
std::string CountOutcomes(const Judgement& judgement) {
  std::string counts;
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kFail, Outcome::kError, Outcome::kInconclusive}) {
    const auto n =
        std::count_if(judgement.verdicts.begin(), judgement.verdicts.end(),
                      [&](const Verdict& verdict) { return verdict.outcome == outcome; });
    if (n == 0) continue;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", n, OutcomeName(outcome));
  }
  return counts.empty() ? "nothing was judged" : counts;
}

std::string OutcomeSection(const ReportInput& input, bool colour) {
  const std::string_view name = RunOutcomeWord(*input.judgement);
  const std::string_view begin = OutcomeColour(name, colour);
  return fmt::format("Outcome      {}{}{}: {}; exit code {}\n", begin, name,
                     begin.empty() ? "" : "\x1b[0m", CountOutcomes(*input.judgement),
                     input.judgement->exit_code);
}

// "clock CLOCK_MONOTONIC on tsc, read by a system call in 260 ns".
std::string ClockText(const EnvironmentRecord& environment) {
  std::string text = "clock " + environment.clock;
  if (!environment.clocksource.empty()) text += " on " + environment.clocksource;
  if (environment.clock_read_cost_ns > 0) {
    text += fmt::format(", read {}in {:.0f} ns",
                        environment.clock_in_user_space.value_or(true) ? "" : "by a system call ",
                        environment.clock_read_cost_ns);
  }
  return text;
}

// "kasan off; lockdep off; pair.scheduler none; its host: memory enough".
std::string AuditText(const Record& record) {
  const auto list = [](const std::vector<AuditFinding>& audit) {
    std::string text;
    for (const AuditFinding& finding : audit) {
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", finding.name, finding.value);
    }
    return text;
  };
  std::string text = list(record.environment.audit);
  if (!record.host.audit.empty()) {
    text += (text.empty() ? "its host: " : "; its host: ") + list(record.host.audit);
  }
  return text;
}

// Records that are not complete, and boots that had to be repeated.
std::string TroubleSection(const ReportInput& input) {
  std::string out;
  for (size_t i = 0; i < input.records.size(); i++) {
    const Record& record = input.records[i];
    const std::string which = input.records.size() == 1 ? "" : fmt::format("record {}: ", i + 1);
    if (record.outcome != RunOutcome::kComplete) {
      out += Labelled(
          "Run", fmt::format("{}{}: {}", which, RunOutcomeName(record.outcome), record.outcome_why),
          kLabelColumns);
    }
    for (const std::string& boot : record.host.failed_boots) {
      out += Labelled("Boot", which + "repeated: " + boot, kLabelColumns);
    }
  }
  if (input.judgement->partial) {
    out += Labelled("Partial", "the run was cut short: what follows is what was measured so far",
                    kLabelColumns);
  }
  return out;
}

std::string WarningSection(const Judgement& judgement) {
  std::string out;
  if (RunOutcomeWord(judgement) == "skip") return out;  // why stands with the run
  for (const std::string& warning : judgement.warnings) {
    out += Labelled(out.empty() ? "Warnings" : "", "- " + warning, kLabelColumns);
  }
  return out;
}

// The lines of a scenario's prose are as long as its author made them: they are wrapped anew.
std::string OneParagraph(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string Join(const std::vector<std::string>& sections) {
  std::string out;
  for (const std::string& section : sections) {
    if (section.empty()) continue;
    out += (out.empty() ? "" : "\n") + section;
  }
  return out;
}

}  // namespace

std::string_view OutcomeColour(std::string_view outcome, bool colour) {
  if (!colour) return {};
  if (outcome == "pass") return "\x1b[32m";
  if (outcome == "fail" || outcome == "error") return "\x1b[31m";
  return "\x1b[33m";
}

std::string HeaderSection(const ReportInput& input) {
  const Record& record = input.records.front();
  const EnvironmentRecord& environment = record.environment;
  std::string out = Labelled("Scenario",
                             fmt::format("{}, seed {}, hash {}", record.scenario_name, record.seed,
                                         record.scenario_hash.substr(0, kHashShown)),
                             kLabelColumns);
  std::vector<std::string> kernel;
  if (!environment.kernel_release.empty()) kernel.push_back(environment.kernel_release);
  if (!environment.kernel_version.empty()) kernel.push_back(environment.kernel_version);
  if (!record.host.kernel.empty()) kernel.push_back("asked for as " + record.host.kernel);
  if (!environment.kernel_config_hash.empty()) {
    kernel.push_back("config " + environment.kernel_config_hash.substr(0, kHashShown));
  }
  if (!kernel.empty()) {
    out += Labelled("Kernel", fmt::to_string(fmt::join(kernel, ", ")), kLabelColumns);
  }
  std::vector<std::string> origin;
  for (const auto& [key, value] : record.host.kernel_origin) {
    if (value.find('\n') == std::string::npos) origin.push_back(key + " " + value);
  }
  if (!origin.empty()) {
    out += Labelled("Built from", fmt::to_string(fmt::join(origin, ", ")), kLabelColumns);
  }
  std::vector<std::string> run;
  if (!environment.executor.empty()) run.push_back(environment.executor);
  if (!environment.time.empty()) run.push_back(environment.time + " time");
  if (environment.cpus > 0) run.push_back(Plural(environment.cpus, "CPU"));
  if (environment.memory_bytes > 0) {
    run.push_back(
        fmt::format("{:.0f} MiB", static_cast<double>(environment.memory_bytes) / 0x1p20));
  }
  if (!environment.cpu_idle.empty()) run.push_back("cpuidle " + environment.cpu_idle);
  if (!environment.cpu_frequency.empty()) run.push_back("cpufreq " + environment.cpu_frequency);
  if (!environment.clock.empty()) {
    run.push_back(ClockText(environment));
  }
  if (environment.boot_work_ended == false) {
    run.push_back(fmt::format("its kernel still busy with its own boot after {}",
                              FormatDuration(*environment.boot_wait_ns)));
  }
  if (!run.empty()) out += Labelled("Run", fmt::to_string(fmt::join(run, ", ")), kLabelColumns);
  if (const std::string audit = AuditText(record); !audit.empty()) {
    out += Labelled("Audit", audit, kLabelColumns);
  }
  if (!record.host.started.empty()) {
    out += Labelled("Started",
                    fmt::format("{}, took {:.0f} s", record.host.started, record.host.wall_seconds),
                    kLabelColumns);
  }
  out += Labelled("Records",
                  input.records.size() == 1 ? std::string("n = 1, spread unknown")
                                            : fmt::format("n = {}", input.records.size()),
                  kLabelColumns);
  return out;
}

// A fixture's settings ("module null_blk irqmode" = 2, "pair:0 scheduler" = none) by whom they
// belong to, in the order of the record; what all queues have in common is said once.
std::vector<std::string> SettingLines(const FixtureRecord& fixture) {
  std::vector<std::string> queues;
  std::map<std::string, std::vector<std::string>> values;  // of a queue's key, one for each queue
  const auto split = [](const std::string& name) { return name.rfind(' ') + 1; };
  const auto is_queue = [&](const std::string& owner) {
    return owner.starts_with(fixture.name + ":");
  };
  for (const auto& [name, value] : fixture.settings) {
    const std::string owner = name.substr(0, split(name));
    if (!is_queue(owner)) continue;
    if (queues.empty() || queues.back() != owner) queues.push_back(owner);
    values[name.substr(split(name))].push_back(value);
  }
  std::vector<std::pair<std::string, std::string>> lines;  // owner, "key=value ..."
  const auto add = [&lines](const std::string& owner, const std::string& text) {
    for (auto& [known, line] : lines) {
      if (known != owner) continue;
      if ((line + " ").find(" " + text + " ") == std::string::npos) line += " " + text;
      return;
    }
    lines.emplace_back(owner, " " + text);
  };
  for (const auto& [name, value] : fixture.settings) {
    if (name == kNoteSetting) continue;  // a warning says it
    std::string owner = name.substr(0, split(name));
    const std::string key = name.substr(split(name));
    const std::vector<std::string>& all = values[key];
    const bool common =
        is_queue(owner) && all.size() > 1 && all.size() == queues.size() &&
        std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
    if (common) owner = "every queue ";
    add(owner, fmt::format("{}={}", key, value));
  }
  std::vector<std::string> texts;
  for (auto& [owner, line] : lines) {
    if (!owner.empty()) owner.back() = ':';
    texts.push_back(owner + line);
  }
  return texts;
}

std::string SetUpSection(const ReportInput& input) {
  std::string out;
  for (const FixtureRecord& fixture : input.records.front().fixtures) {
    if (fixture.nr_tags == 0) {
      out += Labelled(
          out.empty() ? "Read back" : "",
          fmt::format("{}: {}, tags and hardware queues not known", fixture.name, fixture.kind),
          kLabelColumns);
      for (const std::string& line : SettingLines(fixture)) {
        out += Labelled("", line, kLabelColumns);
      }
      continue;
    }
    std::string text = fmt::format(
        "{}: {}, {}{}, {}, {}", fixture.name, fixture.kind, Plural(fixture.nr_tags, "tag"),
        fixture.shared ? " shared by all queues" : " for each queue",
        fixture.nr_reserved_tags == 0 ? "none reserved"
                                      : fmt::format("{} reserved", fixture.nr_reserved_tags),
        Plural(fixture.nr_hw_queues, "hardware queue"));
    out += Labelled(out.empty() ? "Read back" : "", text, kLabelColumns);
    for (const std::string& line : SettingLines(fixture)) out += Labelled("", line, kLabelColumns);
  }
  return out;
}

std::string VerdictSection(const ReportInput& input, bool colour) {
  const std::vector<Verdict>& verdicts = input.judgement->verdicts;
  if (verdicts.empty()) return "";
  size_t others = 4 + 4 * 2;                    // indent and gaps
  std::array<size_t, 4> widths = {7, 9, 8, 5};  // of the titles
  for (const Verdict& verdict : verdicts) {
    widths[0] = std::max(widths[0], OutcomeName(verdict.outcome).size());
    widths[1] = std::max(widths[1], std::min(kNameColumnsMax, TextColumns(verdict.assertion)));
    widths[2] = std::max(widths[2], TextColumns(verdict.observed));
    widths[3] = std::max(widths[3], TextColumns(verdict.bound));
  }
  for (const size_t width : widths) others += width;
  const size_t room = std::max<size_t>(20, kReportColumns - std::min(kReportColumns, others));
  TextTable table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft}, 4);
  table.Limit(1, kNameColumnsMax);
  table.Row({"verdict", "assertion", "what", "observed", "bound"});
  const Verdict* above = nullptr;
  for (const Verdict& verdict : verdicts) {
    const std::string_view name = OutcomeName(verdict.outcome);
    std::vector<std::string> what = WrapText(verdict.what, room);
    what.resize(std::max<size_t>(1, what.size()));
    table.Row({std::string(name), verdict.assertion, what[0], verdict.observed, verdict.bound},
              OutcomeColour(name, colour));
    for (size_t i = 1; i < what.size(); i++) table.Row({"", "", what[i], "", ""});
    const size_t indent = 4 + widths[0] + 2;
    const bool same = above != nullptr && above->why == verdict.why;
    const std::string why = verdict.phase + ": " + (same ? "as above" : verdict.why);
    for (const std::string& line : WrapText(why, kReportColumns - indent)) {
      table.Line(std::string(indent, ' ') + line);
    }
    above = &verdict;
  }
  return "Verdicts\n" + table.ToString();
}

std::string TextReport(const ReportInput& input, bool colour) {
  const Scenario& scenario = *input.scenario;
  std::string question;
  for (const auto& [label, text] :
       {std::pair{"Situation", scenario.situation}, std::pair{"Expectation", scenario.expectation},
        std::pair{"Why", scenario.why}}) {
    if (!text.empty()) question += Labelled(label, OneParagraph(text), kLabelColumns);
  }
  std::string end;
  if (!input.results_folder.empty()) {
    end += Labelled("Results", input.results_folder, kLabelColumns);
  }
  end += input.repeat_command.empty()
             ? Labelled("Repeat with", "the command in the manifest of the record's folder",
                        kLabelColumns)
             : "Repeat with\n" + WrapCommand(input.repeat_command, 4);
  return Join({HeaderSection(input), question, SetUpSection(input), TroubleSection(input),
               MeasuredSection(input), TagSetSection(input), VerdictSection(input, colour),
               WarningSection(*input.judgement), OutcomeSection(input, colour), end});
}

}  // namespace blkfair
