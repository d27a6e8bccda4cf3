// The report of a comparison: plain ASCII in 72 columns, ready for a mail to a list. Pure: text
// out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/compare/comparison.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

struct ComparedSide {
  std::string name;  // the kernel as it was asked for, or "fixture.pair.scheduler=bfq"
  std::span<const Record> records;
};

struct ComparisonReportInput {
  const Scenario* scenario = nullptr;
  ComparedSide a;
  ComparedSide b;
  const Comparison* comparison = nullptr;
  double confidence = 0.95;
  std::vector<uint32_t> looks;  // the numbers of repeats at which it was planned to look
  std::string command;          // the exact command that repeats it
};

std::string MailReport(const ComparisonReportInput& input);
// The same as one JSON document.
std::string ComparisonJson(const ComparisonReportInput& input);

}  // namespace blkfair
