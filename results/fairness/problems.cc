// What is wrong with an assertion in its scenario. (Each key by itself was checked by the reader,
// each table by AssertionInfo::check.)
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/fairness/assertion.h"
#include "results/fairness/metric.h"

namespace blkfair {

namespace {

// All names that an assertion gives of jobs and queues, with what each may be.
std::vector<std::pair<std::string, ParamRef>> NamesIn(const AssertionInfo& info,
                                                      const ParamValues& params) {
  std::vector<std::pair<std::string, ParamRef>> names;
  for (const ParamSpec& param : info.params) {
    if (param.refers == ParamRef::kNone || !params.Has(param.name)) continue;
    if (param.shape == ParamShape::kOne) {
      names.emplace_back(params.String(param.name), param.refers);
      continue;
    }
    for (const std::string& name : params.Strings(param.name)) {
      names.emplace_back(name, param.refers);
    }
  }
  return names;
}

// The jobs of a phase that a name stands for: the job of that name, or those on that queue.
std::vector<const JobSpec*> JobsNamed(const Scenario& scenario, const PhaseSpec& phase,
                                      const std::string& name) {
  std::vector<const JobSpec*> jobs;
  for (const std::string& job_name : phase.jobs) {
    const JobSpec* job = scenario.JobInPhase(phase, job_name);
    if (job == nullptr) continue;
    if (job_name == name || job->queue.Name() == name) jobs.push_back(job);
  }
  return jobs;
}

// The engine, and what about the job moves the moment at which it stamps issue.
std::string EngineWithIssue(const JobSpec& job) {
  if (Trims(job.rw) && job.trim == TrimWay::kIoctl) return "trim by ioctl";
  const bool sqpoll = job.engine_params.Has("sqpoll") && job.engine_params.Bool("sqpoll");
  return sqpoll ? job.engine + " with sqpoll" : job.engine;
}

void FindProblemsInPhase(const Scenario& scenario, const AssertSpec& spec,
                         const AssertionInfo& info, const PhaseSpec& phase,
                         std::vector<std::string>* problems) {
  std::set<std::string> engines;
  std::string open_loop;  // a job of a given rate
  bool some_closed = false;
  for (const auto& [name, refers] : NamesIn(info, spec.params)) {
    if (refers == ParamRef::kPhase) {
      if (scenario.FindPhase(name) == nullptr) {
        problems->push_back(fmt::format("there is no phase {}", name));
      }
      continue;
    }
    const std::vector<const JobSpec*> jobs = JobsNamed(scenario, phase, name);
    for (const JobSpec* job : jobs) {
      engines.insert(EngineWithIssue(*job));
      if (job->rate_iops > 0) {
        open_loop = job->name;
      } else {
        some_closed = true;
      }
    }
    if (jobs.empty()) {
      problems->push_back(fmt::format("{} has no part in phase {}", name, phase.name));
    }
  }
  if (!spec.params.Has("metric") || spec.contention == Contention::kAbsent) return;
  const MetricInfo& metric = MetricByName(spec.params.String("metric"));
  const bool part_of_latency =
      metric.latency == LatencyClass::kClat || metric.latency == LatencyClass::kSlat;
  if (part_of_latency && engines.size() > 1) {
    problems->push_back(fmt::format(
        "{} cannot be compared between engines {} on a contended set: libaio waits for a tag while "
        "it submits, io_uring afterwards; use {}",
        metric.name, fmt::join(engines, " and "), "lat" + std::string(metric.name.substr(4))));
  }
  const bool of_service =
      metric.latency != LatencyClass::kNone && metric.latency != LatencyClass::kResponse;
  if (of_service && info.name != "bound" && !open_loop.empty() && !some_closed) {
    problems->push_back(
        fmt::format("{} leaves out how long the I/Os of {}, which has rate_iops, waited to begin: "
                    "use response{}",
                    metric.name, open_loop, metric.name.substr(metric.name.find('_'))));
  }
}

// A slowdown whose job does not run alone with the keys that it has in the phase.
std::optional<std::string> MissingSolo(const Scenario& scenario, const AssertSpec& spec) {
  const std::string& job = spec.params.String("job");
  for (const std::string& phase : spec.phases) {
    const JobSpec* here = scenario.JobInPhase(phase, job);
    if (here == nullptr || scenario.SoloPhaseOf(job, phase) != nullptr) continue;
    return fmt::format(
        "{} has no phase in which it runs alone{}: add it to a phase with solo = [...], or name "
        "one in solo",
        job, *here == *scenario.FindJob(job) ? "" : " with its keys of phase " + phase);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> AssertionProblems(const Scenario& scenario, const AssertSpec& spec) {
  const AssertionInfo* info = FindAssertion(spec.kind);
  if (info == nullptr) return {fmt::format("there is no assertion kind {}", spec.kind)};
  std::vector<std::string> problems;
  if (info->check != nullptr) {
    if (const auto problem = info->check(spec.params)) return {*problem};
  }
  for (const std::string& phase_name : spec.phases) {
    const PhaseSpec* phase = scenario.FindPhase(phase_name);
    if (phase == nullptr) {
      problems.push_back(fmt::format("there is no phase {}", phase_name));
    } else {
      FindProblemsInPhase(scenario, spec, *info, *phase, &problems);
    }
  }
  if (info->name == "slowdown" && !spec.params.Has("solo")) {
    if (auto problem = MissingSolo(scenario, spec)) problems.push_back(std::move(*problem));
  }
  return problems;
}

}  // namespace blkfair
