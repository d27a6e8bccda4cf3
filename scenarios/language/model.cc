#include "scenarios/language/model.h"

#include <algorithm>

#include "base/check.h"

namespace blkfair {

namespace {

template <typename T>
const T* FindByName(const std::vector<T>& items, std::string_view name) {
  const auto it =
      std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

std::string_view RwName(Rw rw) {
  switch (rw) {
    case Rw::kRead:
      return "read";
    case Rw::kWrite:
      return "write";
    case Rw::kRandRead:
      return "randread";
    case Rw::kRandWrite:
      return "randwrite";
    case Rw::kRw:
      return "rw";
    case Rw::kRandRw:
      return "randrw";
    case Rw::kTrim:
      return "trim";
    case Rw::kRandTrim:
      return "randtrim";
  }
  CHECK(false);
}

std::string_view TrimWayName(TrimWay way) {
  switch (way) {
    case TrimWay::kIoctl:
      return "ioctl";
    case TrimWay::kAsync:
      return "async";
  }
  CHECK(false);
}

std::string_view IsolationName(Isolation isolation) {
  switch (isolation) {
    case Isolation::kThread:
      return "thread";
    case Isolation::kProcess:
      return "process";
  }
  CHECK(false);
}

std::string_view RateProcessName(RateProcess process) {
  switch (process) {
    case RateProcess::kFixed:
      return "fixed";
    case RateProcess::kPoisson:
      return "poisson";
  }
  CHECK(false);
}

std::string_view ContentionName(Contention contention) {
  switch (contention) {
    case Contention::kRequired:
      return "required";
    case Contention::kAbsent:
      return "absent";
    case Contention::kAny:
      return "any";
  }
  CHECK(false);
}

const FixtureSpec* Scenario::FindFixture(std::string_view fixture) const {
  return FindByName(fixtures, fixture);
}

const JobSpec* Scenario::FindJob(std::string_view job) const { return FindByName(jobs, job); }

const PhaseSpec* Scenario::FindPhase(std::string_view phase) const {
  return FindByName(phases, phase);
}

const JobSpec* Scenario::JobInPhase(const PhaseSpec& phase, std::string_view job) const {
  if (std::find(phase.jobs.begin(), phase.jobs.end(), job) == phase.jobs.end()) return nullptr;
  const JobSpec* changed = FindByName(phase.changed_jobs, job);
  return changed != nullptr ? changed : FindJob(job);
}

const JobSpec* Scenario::JobInPhase(std::string_view phase, std::string_view job) const {
  const PhaseSpec* spec = FindPhase(phase);
  return spec == nullptr ? nullptr : JobInPhase(*spec, job);
}

const PhaseSpec* Scenario::SoloPhaseOf(std::string_view job, std::string_view as_in) const {
  const JobSpec* wanted = JobInPhase(as_in, job);
  if (wanted == nullptr) return nullptr;
  const auto it = std::find_if(phases.begin(), phases.end(), [&](const PhaseSpec& phase) {
    return phase.jobs.size() == 1 && phase.jobs.front() == job &&
           *JobInPhase(phase, job) == *wanted;
  });
  return it == phases.end() ? nullptr : &*it;
}

int64_t Scenario::LastStartNs(const PhaseSpec& phase) const {
  int64_t last_ns = 0;
  for (const std::string& each : phase.jobs) {
    if (const JobSpec* job = JobInPhase(phase, each)) {
      last_ns = std::max(last_ns, job->start_delay_ns);
    }
  }
  return last_ns;
}

int64_t Scenario::LengthNs() const {
  int64_t total_ns = 0;
  for (const PhaseSpec& phase : phases) {
    total_ns += phase.settle_ns + LastStartNs(phase) + phase.ramp_ns + phase.runtime_ns;
  }
  return total_ns;
}

}  // namespace blkfair
