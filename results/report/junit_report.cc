// JUnit's XML, as CI servers read it.
#include <fmt/format.h>

#include <sstream>

#include <pugixml.hpp>

#include "results/report/report.h"
#include "results/report/suite.h"

namespace blkfair {

namespace {

struct Counts {
  size_t tests = 0;
  size_t failures = 0;
  size_t errors = 0;
  size_t skipped = 0;
  double seconds = 0;

  void Count(SuiteResult result) {
    tests++;
    failures += result == SuiteResult::kFail ? 1 : 0;
    errors += result == SuiteResult::kError ? 1 : 0;
    skipped += result == SuiteResult::kSkip ? 1 : 0;
  }
  void Add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
    seconds += other.seconds;
  }
  void Write(pugi::xml_node* node) const {
    node->append_attribute("tests") = tests;
    node->append_attribute("failures") = failures;
    node->append_attribute("errors") = errors;
    node->append_attribute("skipped") = skipped;
    node->append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
  }
};

void AddCase(pugi::xml_node* suite, const std::string& scenario, const std::string& name,
             SuiteResult result, const std::string& why, double seconds) {
  pugi::xml_node test = suite->append_child("testcase");
  test.append_attribute("classname") = scenario.c_str();
  test.append_attribute("name") = name.c_str();
  test.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
  if (result == SuiteResult::kPass) return;
  const char* const element = result == SuiteResult::kFail    ? "failure"
                              : result == SuiteResult::kError ? "error"
                                                              : "skipped";
  test.append_child(element).append_attribute("message") = why.c_str();
}

// The run itself: whether it took place. That its verdicts failed is theirs to say.
SuiteResult RunResult(const SummaryRow& row) {
  const SuiteResult result = ResultOf(row);
  const bool judged = !row.verdicts.empty() && result != SuiteResult::kError;
  return judged ? SuiteResult::kPass : result;
}

Counts AddSuite(pugi::xml_node* suites, const SummaryRow& row) {
  Counts counts;
  counts.seconds = row.wall_seconds;
  counts.Count(RunResult(row));
  for (const Verdict& verdict : row.verdicts) counts.Count(ResultOf(verdict));
  pugi::xml_node suite = suites->append_child("testsuite");
  suite.append_attribute("name") = row.scenario.c_str();
  counts.Write(&suite);
  AddCase(&suite, row.scenario, "run", RunResult(row), WhyOf(row), row.wall_seconds);
  for (const Verdict& verdict : row.verdicts) {
    AddCase(&suite, row.scenario, NameOf(verdict), ResultOf(verdict), WhyOf(verdict), 0);
  }
  return counts;
}

}  // namespace

std::string JunitReport(std::span<const SummaryRow> rows) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node suites = document.append_child("testsuites");
  suites.append_attribute("name") = "blkfair";
  Counts total;
  for (const SummaryRow& row : rows) total.Add(AddSuite(&suites, row));
  total.Write(&suites);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace blkfair
