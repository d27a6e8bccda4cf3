#include "harness/cli/report_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include <CLI/CLI.hpp>

#include "harness/cli/exit_codes.h"
#include "harness/cli/progress_line.h"

namespace blkfair {

void ReportOutput::AddOptions(CLI::App* command) {
  CLI::Option* report =
      command->add_option("--report", kind_, "What to print: text, json, ktap or junit [text]")
          ->check(CLI::IsMember({"text", "json", "ktap", "junit"}));
  command
      ->add_flag_callback(
          "--json", [this] { kind_ = "json"; },
          "Same as --report json (an array for several scenarios)")
      ->excludes(report);
}

SummaryRow ReportOutput::Add(const ReportInput& input) {
  rows_.push_back(SummaryOf(input));
  if (kind_ == "text") {
    fmt::print("{}", TextReport(input, UseColour(STDOUT_FILENO)));
    std::fflush(stdout);
  } else if (kind_ == "json") {
    json_reports_.push_back(JsonReport(input));
  }
  return rows_.back();
}

void ReportOutput::AddNotRun(const std::string& scenario) {
  SummaryRow row;
  row.scenario = scenario;
  row.outcome = "interrupted";
  row.exit_code = kExitInterrupted;
  row.note = "not run";
  rows_.push_back(row);
}

void ReportOutput::Finish(bool several, bool summary) const {
  if (kind_ == "ktap") {
    fmt::print("{}", KtapReport(rows_));
  } else if (kind_ == "junit") {
    fmt::print("{}", JunitReport(rows_));
  } else if (kind_ == "json") {
    fmt::print("{}", several ? fmt::format("[\n{}\n]\n", fmt::join(json_reports_, ",\n"))
                             : fmt::format("{}", fmt::join(json_reports_, "")));
  } else if (several && summary) {
    fmt::print("{}", TextSummary(rows_, UseColour(STDOUT_FILENO)));
  }
}

}  // namespace blkfair
