// Runs shipped scenarios in guests, for kernel tests: two guests at a time, each result a Record.
#pragma once

#include <string>
#include <vector>

#include "harness/guest/guest.h"
#include "results/fairness/judge.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair::testing_support {

// Path of a small kernel ("stock", "nofair", "noacct") in the folder BLKFAIR_TEST_KERNELS, by
// default ../shared/kernels beside the source tree; empty when there is none.
std::string SmallKernel(const std::string& name);

// A shipped scenario by name, or one given as text (of several lines), with overrides. Fails the
// test and aborts when it does not read.
Scenario ReadScenario(const std::string& name, const std::vector<std::string>& overrides);

struct GuestRun {
  std::string kernel;    // as --kernel takes it
  std::string scenario;  // name of a shipped one, or, if it has lines, its text
  std::vector<std::string> overrides;
  GuestTime time = GuestTime::kVirtual;
  RunOutcome outcome = RunOutcome::kComplete;  // what the test expects of the run
};

// Two at a time; results in the order asked. A run that does not end as expected fails the test.
// The console of a run that is not complete stands in its record's outcome_why.
std::vector<Record> RunInGuests(const std::vector<GuestRun>& runs);

// Judges a record of `run` by its own scenario.
Judgement JudgeRun(const GuestRun& run, const Record& record);
const Verdict* FindVerdict(const Judgement& judgement, const std::string& assertion);

// I/Os per second of a job in a phase, all clones; and its latency, both directions.
double IopsOf(const Record& record, const std::string& phase, const std::string& job);
LatencyStats LatencyOf(const Record& record, const std::string& phase, const std::string& job);
const QueueRecord& QueueOf(const Record& record, const std::string& phase,
                           const std::string& queue);

}  // namespace blkfair::testing_support
