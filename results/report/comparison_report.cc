// The report of a comparison: plain ASCII in 72 columns, ready for a mail to a list.
#include "results/report/comparison_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "results/compare/balance.h"
#include "results/fairness/metric.h"
#include "results/report/layout.h"

namespace blkfair {

namespace {

constexpr size_t kMailColumns = 72;
constexpr size_t kIndent = 12;

// Values that are written for people use a few letters beyond ASCII, and lines of their own; a mail
// does not.
std::string Ascii(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i] == '\n' ? ' ' : text[i];
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

std::string Figure(const ComparedMetric& row, const std::optional<double>& value) {
  if (!value) return "-";
  if (row.metric == kSlowdown) return fmt::format("{:.2f}", *value);
  return Ascii(FormatMetric(MetricByName(row.metric), *value));
}

// "+0.3": a difference of values of that metric.
std::string DifferenceText(const ComparedMetric& row, double difference) {
  return (difference < 0 ? "-" : "+") + Figure(row, std::fabs(difference));
}

// "+98.1 [+97.6, +98.7]"
std::string ChangeText(const ComparedMetric& row) {
  if (!row.effect) {
    const std::optional<double> factor = row.Factor();
    return factor ? Change100(*factor) + " [unknown]" : "-";
  }
  const Estimate& effect = *row.effect;
  if (row.scale == ChangeScale::kDifference) {
    return fmt::format("{} [{}, {}]", DifferenceText(row, effect.value),
                       DifferenceText(row, effect.low), DifferenceText(row, effect.high));
  }
  return fmt::format("{} [{}, {}]", Change100(effect.value), Change100(effect.low),
                     Change100(effect.high));
}

void AppendTable(const ComparisonReportInput& input, bool primary, std::string* out) {
  std::string phase;
  for (const ComparedMetric& row : input.comparison->metrics) {
    if (row.primary != primary) continue;
    if (row.phase != phase) *out += fmt::format(" phase {}\n", Ascii(row.phase));
    phase = row.phase;
    *out += Trimmed(fmt::format(" {:<15} {:>8} {:>8} {:<20} {:>2} {}",
                                Clip(Ascii(row.job + " " + row.metric), 15), Figure(row, row.a),
                                Figure(row, row.b), ChangeText(row), row.pairs,
                                primary ? std::string(ChangeWord(row.change)) : std::string()));
  }
}

// "heavy +98.1 [+97.6, +98.7]": half a line.
std::string SideOfChange(const ComparedMetric* row) {
  return row == nullptr ? "none" : fmt::format("{} {}", Clip(Ascii(row->job), 9), ChangeText(*row));
}

std::string PriceLine(const std::vector<const ComparedMetric*>& rows, size_t at) {
  if (at >= rows.size()) return {};
  const ComparedMetric& row = *rows[at];
  return fmt::format("{:<12} {:>8} {:>8}", row.metric == "cpu" ? "CPU per I/O" : "total iops",
                     Figure(row, row.a), Figure(row, row.b));
}

std::string ProtectionLine(const std::vector<const ComparedMetric*>& rows, size_t at) {
  if (at >= rows.size()) return {};
  const ComparedMetric& row = *rows[at];
  return fmt::format("{:<18} {:>8} {:>8}", Clip(Ascii(row.job + " " + row.metric), 18),
                     Figure(row, row.a), Figure(row, row.b));
}

// What the change gained beside what it was paid with.
void AppendBalance(const Balance& balance, std::string* out) {
  constexpr size_t kLeft = 30;
  const auto line = [&](const std::string& left, const std::string& right) {
    *out += Trimmed(fmt::format(" {:<{}} | {}", left, kLeft, right));
  };
  *out += fmt::format("\n phase {}\n", Ascii(balance.phase));
  line("Winner (iops, %)", "Loser (iops, %)");
  line(SideOfChange(balance.winner), SideOfChange(balance.loser));
  line(fmt::format("{:<12} {:>8} {:>8}", "Price", "A", "B"),
       fmt::format("{:<18} {:>8} {:>8}", "Protection", "A", "B"));
  for (size_t i = 0; i < std::max(balance.price.size(), balance.protection.size()); i++) {
    line(PriceLine(balance.price, i), ProtectionLine(balance.protection, i));
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
  if (input.looks.size() > 1) {
    Append("Looks",
           fmt::format("planned at {} repeats, with a {}th of the error for each",
                       fmt::join(input.looks, ", "), input.looks.size()),
           &out);
  }
  for (const std::string& difference : comparison.differences) {
    Append("Beware", Ascii(difference), &out);
  }
  for (const std::string& warning : comparison.warnings) {
    Append("Warning", Ascii(warning), &out);
  }
  if (!comparison.metrics.empty()) {
    out += fmt::format("\n {:<15} {:>8} {:>8} {:<20} {:>2}\n", "", "A", "B",
                       fmt::format("change % [{:.3g} % CI]", input.confidence * 100), "n");
    AppendTable(input, true, &out);
    for (const Balance& balance : BalancesOf(*input.scenario, comparison)) {
      AppendBalance(balance, &out);
    }
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
