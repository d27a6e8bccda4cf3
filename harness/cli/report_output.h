// What `run`, `judge` and `show` print: a report for people as each scenario is done, or one
// document for machines at the end. On the main thread.
#pragma once

#include <string>
#include <vector>

#include "results/report/report.h"

namespace CLI {
class App;
}

namespace blkfair {

class ReportOutput {
 public:
  void AddOptions(CLI::App* command);

  // One more scenario; its row of the summary.
  SummaryRow Add(const ReportInput& input);
  // A scenario that the run did not get to.
  void AddNotRun(const std::string& scenario);
  // `several`: more than one scenario was asked for, so JSON is an array and people get a summary
  // where they asked for one.
  void Finish(bool several, bool summary) const;

 private:
  std::string kind_ = "text";
  std::vector<std::string> json_reports_;
  std::vector<SummaryRow> rows_;
};

}  // namespace blkfair
