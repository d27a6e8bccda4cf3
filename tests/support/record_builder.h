// Hand-made scenarios and Records for tests: the lopsided pair as it is on a kernel with and
// without tag fairness, and the pieces to change it by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair::testing {

// The figures of one job in one phase, from which its JobRecord is made.
struct JobFigures {
  std::string job;
  std::string queue;
  double iops = 0;
  int64_t typical_ns = 0;  // latency of most I/Os
  int64_t tail_ns = 0;     // latency of the others
  double tail_fraction = 0.02;
  int64_t gap_ns = 0;
  double tags = 0;  // mean of the tags that its queue held
};

// `samples` of one latency, 1 in 1/tail_fraction of them `tail_ns`.
LatencyStats MakeLatency(uint64_t samples, int64_t typical_ns, int64_t tail_ns,
                         double tail_fraction);

// null_blk "pair" with two queues sharing 64 tags; heavy on pair:0 (libaio, 4 KiB, depth 256),
// light on pair:1 (libaio, 512 B, depth 1); phases solo_heavy, solo_light, contention of 10 s.
// Without assertions.
Scenario LopsidedScenario();
// The assertions that the lopsided scenario ships with.
std::vector<AssertSpec> LopsidedAsserts();

// A complete phase of `scenario`, 10 s of window, contended in all of its samples where several
// queues are used.
PhaseRecord MakePhase(const Scenario& scenario, const std::string& name,
                      const std::vector<JobFigures>& jobs);
// A complete record of `scenario` without phases.
Record MakeRecord(const Scenario& scenario);

// What was measured on Linux 6.12.117: as it is, and with the fairness code removed.
Record StockRecord(const Scenario& scenario);
Record NofairRecord(const Scenario& scenario);

// A table entry with the defaults that the reader would have filled in.
AssertSpec MakeAssert(std::string kind, std::vector<std::string> phases,
                      std::vector<std::pair<std::string_view, ParamValue>> params,
                      Contention contention = Contention::kRequired);

JobRecord& JobIn(PhaseRecord& phase, std::string_view job);
PhaseRecord& PhaseIn(Record& record, std::string_view phase);

}  // namespace blkfair::testing
