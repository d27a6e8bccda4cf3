// The report of a comparison: plain ASCII in 72 columns, ready for a mail to a list.
#include "results/report/comparison_report.h"

#include <fmt/format.h>

#include "results/fairness/metric.h"
#include "results/report/layout.h"

namespace blkfair {

namespace {

constexpr size_t kMailColumns = 72;
constexpr size_t kIndent = 12;

// Values that are written for people use a few letters beyond ASCII; a mail does not.
std::string Ascii(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i];
    } else if (text.substr(i).starts_with("\u00b5")) {
      out += 'u';
    } else if (byte >= 0xc0) {
      out += '?';
    }
  }
  return out;
}

void Append(std::string_view label, std::string_view text, std::string* out) {
  const std::vector<std::string> lines = WrapText(text, kMailColumns - kIndent);
  for (size_t i = 0; i < lines.size(); i++) {
    *out += fmt::format("{:<{}}{}\n", i == 0 ? label : "", kIndent, lines[i]);
  }
}

std::string SideText(const ComparedSide& side) {
  const EnvironmentRecord& environment = side.records.front().environment;
  std::string text = side.name;
  if (!environment.kernel_release.empty()) {
    text += fmt::format(" ({} {})", environment.kernel_release, environment.kernel_version);
  }
  return text;
}

// Without what stands empty at its end, and with a newline.
std::string Trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// A change as a percentage, or as a factor where that would be hard to read.
std::string Change100(double factor) {
  if (factor >= 100) return fmt::format("x{:.0f}", factor);
  if (factor >= 2) return fmt::format("x{:.1f}", factor);
  return fmt::format("{:+.1f}", (factor - 1) * 100);
}

// "+98.1 [+97.6, +98.7]"
std::string ChangeText(const ComparedMetric& row) {
  if (!row.factor) return "-";
  return fmt::format("{} [{}, {}]", Change100(row.factor->value), Change100(row.factor->low),
                     Change100(row.factor->high));
}

std::string Figure(const MetricInfo& metric, const std::optional<double>& value) {
  return value ? Ascii(FormatMetric(metric, *value)) : "-";
}

void AppendTable(const ComparisonReportInput& input, bool primary, std::string* out) {
  std::string phase;
  for (const ComparedMetric& row : input.comparison->metrics) {
    if (row.primary != primary) continue;
    if (row.phase != phase) *out += fmt::format(" phase {}\n", Ascii(row.phase));
    phase = row.phase;
    const MetricInfo& metric = MetricByName(row.metric);
    *out += Trimmed(fmt::format(" {:<15} {:>8} {:>8} {:<20} {:>2} {}",
                                Clip(Ascii(row.job + " " + row.metric), 15), Figure(metric, row.a),
                                Figure(metric, row.b), ChangeText(row), row.pairs,
                                primary ? std::string(ChangeWord(row.change)) : std::string()));
  }
}

}  // namespace

std::string MailReport(const ComparisonReportInput& input) {
  const Comparison& comparison = *input.comparison;
  std::string out;
  Append("Scenario", Ascii(input.scenario->name) + ": " + Ascii(input.scenario->situation), &out);
  Append("A", Ascii(SideText(input.a)), &out);
  Append("B", Ascii(SideText(input.b)), &out);
  const EnvironmentRecord& environment = input.a.records.front().environment;
  Append(
      "Machine",
      Ascii(fmt::format("{}, {} time, {} CPU{}, {}", environment.executor, environment.time,
                        environment.cpus, environment.cpus == 1 ? "" : "s", environment.cpu_model)),
      &out);
  for (const std::string& difference : comparison.differences) {
    Append("Beware", Ascii(difference), &out);
  }
  if (!comparison.metrics.empty()) {
    out += fmt::format("\n {:<15} {:>8} {:>8} {:<20} {:>2}\n", "", "A", "B",
                       fmt::format("change % [{:.3g} % CI]", input.confidence * 100), "n");
    AppendTable(input, true, &out);
    out += "\n Descriptive only:\n";
    AppendTable(input, false, &out);
  }
  out += "\n";
  Append("Conclusion", Ascii(comparison.conclusion), &out);
  for (const ComparedMetric& row : comparison.metrics) {
    if (!row.primary || row.change != Change::kInconclusive || row.why.empty()) continue;
    Append("", Ascii(fmt::format("{} {}: {}", row.job, row.metric, row.why)), &out);
  }
  out += "\nRun with\n";
  const std::vector<std::string> lines = WrapText(Ascii(input.command), kMailColumns - 6);
  for (size_t i = 0; i < lines.size(); i++) {
    out += (i == 0 ? "    " : "      ") + lines[i] + (i + 1 < lines.size() ? " \\\n" : "\n");
  }
  return out;
}

}  // namespace blkfair
