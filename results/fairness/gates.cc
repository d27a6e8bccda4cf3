#include "results/fairness/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "base/units.h"
#include "results/fairness/cross_checks.h"
#include "results/fairness/division.h"
#include "results/fairness/metric.h"

namespace blkfair {

namespace {

constexpr double kContendedFraction = 0.8;  // design rule 8
constexpr uint64_t kFewestSamples = 10;     // of the tag occupancy, to say anything of it
constexpr double kLittleSlack = 1.01;
constexpr double kDepthReached = 0.5;
constexpr double kCpuBusy = 0.9;
constexpr double kBehindMax = 0.05;  // of the window

std::string Seconds(int64_t ns) { return HumanDuration(static_cast<double>(ns)); }

Gate Broken(std::string why) { return Gate{Outcome::kError, std::move(why)}; }
Gate Inconclusive(std::string why) { return Gate{Outcome::kInconclusive, std::move(why)}; }

// Its depth is not meant to be full.
bool IsPaced(const JobSpec* job) {
  return job != nullptr && (job->think_time_ns > 0 || job->rate_iops > 0);
}

std::optional<Gate> WorkersGate(const Scenario& scenario, const PhaseRecord& phase) {
  for (const JobRecord& job : phase.jobs) {
    if (!job.ended_early.empty()) return Broken(job.ended_early);
    if (job.outstanding == 0) continue;
    return Broken(fmt::format("{} I/Os of {} never came back", job.outstanding, job.job));
  }
  const PhaseSpec* spec = scenario.FindPhase(phase.name);
  if (spec == nullptr || phase.partial) return std::nullopt;
  for (const std::string& name : spec->jobs) {
    const JobSpec* job = scenario.JobInPhase(*spec, name);
    const auto clones = static_cast<uint32_t>(
        std::count_if(phase.jobs.begin(), phase.jobs.end(),
                      [&](const JobRecord& record) { return record.job == name; }));
    if (job == nullptr || clones >= job->numjobs) continue;
    return Broken(fmt::format("{} of {} workers of {} left no figures in phase {}: they died",
                              job->numjobs - clones, job->numjobs, name, phase.name));
  }
  return std::nullopt;
}

std::optional<Gate> WindowGate(const Scenario& scenario, const PhaseRecord& phase) {
  if (phase.partial) {
    const PhaseSpec* spec = scenario.FindPhase(phase.name);
    return Inconclusive(fmt::format("phase {} was cut short: a window of {}{}", phase.name,
                                    Seconds(std::max<int64_t>(0, phase.window_ns())),
                                    spec == nullptr ? "" : " of " + Seconds(spec->runtime_ns)));
  }
  if (phase.window_ns() <= 0) {
    return Inconclusive(
        fmt::format("phase {} has no window in which all its jobs ran", phase.name));
  }
  if (!phase.settled) {
    return Inconclusive(
        fmt::format("phase {} began before the tag set had settled (active_queues had not fallen "
                    "within {}): a longer settle would do",
                    phase.name, Seconds(phase.settle_ns)));
  }
  return std::nullopt;
}

std::string CloneName(const JobRecord& job) { return fmt::format("{}[{}]", job.job, job.clone); }

// Whether nothing would be amiss if it had begun no I/O in the window.
bool MayBeIdle(const JobSpec* spec, const PhaseRecord& phase, const JobRecord& job) {
  if (!job.ended_early.empty()) return true;  // that says enough
  if (job.open_loop) return job.open_loop->due == 0;
  return spec != nullptr && spec->think_time_ns >= phase.window_ns();
}

// Workers that had no I/O in flight in all of the window, and so never asked for anything: other
// than one that starves, whose I/Os do not complete. Empty when there are none.
std::string WhoNeverBegan(const Scenario& scenario, const PhaseRecord& phase) {
  std::string first;
  size_t count = 0;
  for (const JobRecord& job : phase.jobs) {
    if (job.depth_max > 0 || MayBeIdle(scenario.JobInPhase(phase.name, job.job), phase, job)) {
      continue;
    }
    if (count++ == 0) first = CloneName(job);
  }
  if (count == 0) return {};
  return fmt::format(
      "{} of {} workers began no I/O in the window of phase {}, the first of them {}: they "
      "contended with nobody",
      count, phase.jobs.size(), phase.name, first);
}

// When the first cell of its series begins in which there was an I/O.
std::optional<int64_t> FirstSignNs(const PhaseRecord& phase, const JobRecord& job) {
  for (size_t i = 0; i < job.series.size(); i++) {
    if (job.series[i].ios == 0 && job.series[i].in_flight == 0) continue;
    return static_cast<int64_t>(i) * phase.series_cell_ns;
  }
  return std::nullopt;
}

// Workers that began only when the window was open already, so that not all contenders ran in all
// of it. (Those with a rate begin when it says so, and those with errors show no sign of it.)
std::string WhoBeganLate(const PhaseRecord& phase) {
  const JobRecord* last = nullptr;
  int64_t last_ns = 0;
  size_t count = 0;
  for (const JobRecord& job : phase.jobs) {
    if (job.open_loop || !job.errors.empty() || job.depth_max == 0) continue;
    if (job.ios_trimmed > 0) continue;  // completed before
    const std::optional<int64_t> began_ns = FirstSignNs(phase, job);
    if (!began_ns || *began_ns == 0 || *began_ns < phase.window_open_ns) continue;
    count++;
    if (last != nullptr && *began_ns <= last_ns) continue;
    last = &job;
    last_ns = *began_ns;
  }
  if (last == nullptr) return {};
  return fmt::format(
      "{} of {} workers had begun no I/O when the window of phase {} opened, and {} not until {} "
      "later: a longer ramp would do, or fewer workers for each CPU",
      count, phase.jobs.size(), phase.name, CloneName(*last),
      Seconds(last_ns - phase.window_open_ns));
}

// All contenders of a phase run in all of its window (design rule 3).
std::optional<Gate> BeganGate(const Scenario& scenario, const PhaseRecord& phase) {
  if (std::string why = WhoNeverBegan(scenario, phase); !why.empty()) return Broken(std::move(why));
  if (std::string why = WhoBeganLate(phase); !why.empty()) return Inconclusive(std::move(why));
  return std::nullopt;
}

std::optional<Gate> ErrorsGate(const PhaseRecord& phase) {
  for (const JobRecord& job : phase.jobs) {
    if (job.errors.empty()) continue;
    std::string errors;
    for (const auto& [what, count] : job.errors) {
      errors += fmt::format("{}{} x {}", errors.empty() ? "" : ", ", count, what);
    }
    return Inconclusive(fmt::format("{} had errors in phase {}: {}", job.job, phase.name, errors));
  }
  return std::nullopt;
}

// Little's law, for a job with all its clones. The I/Os that complete within the window may have
// begun before it, each at most by the longest latency: that much more is allowed.
std::optional<Gate> LittleGate(const PhaseRecord& phase, const Subject& subject) {
  const std::optional<LatencyStats> lat = MergedLatency(LatencyClass::kLat, subject);
  if (!lat || lat->count() == 0) return std::nullopt;
  uint64_t depth = 0;
  for (const JobRecord* job : subject.jobs) depth += job->iodepth;
  const auto window_ns = static_cast<double>(phase.window_ns());
  const double in_flight = static_cast<double>(lat->sum_ns()) / window_ns;
  const double edge = static_cast<double>(*lat->max_ns()) / window_ns;
  if (in_flight <= static_cast<double>(depth) * (kLittleSlack + edge)) return std::nullopt;
  return Inconclusive(fmt::format(
      "clock suspect: {} had {:.2f} I/Os in flight by Little's law (IOPS x mean latency) in phase "
      "{}, and {} at most can be",
      subject.name, in_flight, phase.name, depth));
}

// Before any other gate that looks at times: a window that such a clock measured means nothing.
std::optional<Gate> ClockGate(const PhaseRecord& phase) {
  for (const JobRecord& job : phase.jobs) {
    if (job.clock_anomalies == 0) continue;
    return Inconclusive(fmt::format("clock suspect: {} impossible time differences in {}, phase {}",
                                    job.clock_anomalies, job.job, phase.name));
  }
  return std::nullopt;
}

std::optional<Gate> LittleGate(const PhaseRecord& phase) {
  std::set<std::string> seen;
  for (const JobRecord& job : phase.jobs) {
    if (!seen.insert(job.job).second) continue;
    if (auto gate = LittleGate(phase, *FindSubject(phase, job.job))) return gate;
  }
  return std::nullopt;
}

// A rate that the generator itself did not keep. One that the device did not keep is what was to be
// measured: then every slot is taken, and nothing is held up here.
std::optional<Gate> RateGate(const PhaseRecord& phase) {
  for (const JobRecord& job : phase.jobs) {
    if (!job.open_loop) continue;
    const double behind =
        static_cast<double>(job.open_loop->behind_ns) / static_cast<double>(phase.window_ns());
    if (behind <= kBehindMax) continue;
    return Inconclusive(fmt::format(
        "the generator of {} did not keep rate_iops = {:g} in phase {}: for {:.0f}% of the window "
        "an I/O was overdue though a slot was free; a lower rate, or more clones and CPUs, would "
        "do",
        job.job, job.open_loop->rate_iops, phase.name, 100 * behind));
  }
  return std::nullopt;
}

// Whether a set was sampled often enough to tell; the reason why not otherwise.
std::string TooFewSamples(const TagSetPhaseRecord& set, const std::string& fixture) {
  if (set.samples == 0) return fmt::format("the tag occupancy of {} was not sampled", fixture);
  if (set.samples >= kFewestSamples) return {};
  return fmt::format(
      "the tag occupancy of {} was sampled {} times, and {} are the fewest that tell "
      "anything: a longer runtime or a shorter occupancy_interval would",
      fixture, set.samples, kFewestSamples);
}

// A job that never got as deep as it was meant to be puts nobody to the test. (One that pauses is
// not meant to.)
std::optional<Gate> DepthGate(const Scenario& scenario, const PhaseRecord& phase) {
  for (const JobRecord& job : phase.jobs) {
    const JobSpec* spec = scenario.JobInPhase(phase.name, job.job);
    if (IsPaced(spec)) continue;
    if (job.depth_max >= job.iodepth) continue;
    return Broken(fmt::format("{} had {} I/Os in flight at most in phase {}, of an iodepth of {}",
                              job.job, job.depth_max, phase.name, job.iodepth));
  }
  return std::nullopt;
}

// The jobs and queues that an assertion names.
std::set<std::string> NamesIn(const AssertSpec& spec) {
  std::set<std::string> names;
  const AssertionInfo* info = FindAssertion(spec.kind);
  for (const ParamSpec& param : info == nullptr ? std::span<const ParamSpec>{} : info->params) {
    if (param.refers == ParamRef::kNone || param.refers == ParamRef::kPhase) continue;
    if (!spec.params.Has(param.name)) continue;
    if (param.shape == ParamShape::kOne) {
      names.insert(spec.params.String(param.name));
    } else {
      for (const std::string& name : spec.params.Strings(param.name)) names.insert(name);
    }
  }
  return names;
}

// The fixtures whose queues an assertion names, directly or by their jobs; all of the phase where
// it names none.
std::set<std::string> FixturesOf(const Scenario& scenario, const AssertSpec& spec,
                                 const PhaseRecord& phase) {
  std::set<std::string> fixtures;
  for (const std::string& name : NamesIn(spec)) {
    if (const JobSpec* job = scenario.JobInPhase(phase.name, name)) {
      fixtures.insert(job->queue.fixture);
    } else if (phase.FindQueue(name) != nullptr) {
      fixtures.insert(FixtureOfQueue(name));
    }
  }
  if (fixtures.empty()) {
    for (const QueueRecord& queue : phase.queues) fixtures.insert(FixtureOfQueue(queue.queue));
  }
  return fixtures;
}

// Iops or bytes, of one job or of several: what a generator that is short of CPU limits.
bool IsAboutRate(const AssertSpec& spec) {
  const auto is = [&](std::string_view key, std::initializer_list<std::string_view> values) {
    return spec.params.Has(key) &&
           std::find(values.begin(), values.end(), spec.params.String(key)) != values.end();
  };
  return is("metric", {"iops", "bw"}) || is("of", {"iops", "bytes"});
}

// The phases that an assertion compares the one that it judges with: those it names, or else those
// in which a job runs alone.
std::set<std::string> OtherPhases(const Scenario& scenario, const AssertSpec& spec,
                                  const std::string& phase) {
  constexpr std::array kCompare = {"slowdown", "share", "work_conservation"};
  std::set<std::string> phases;
  if (std::find(kCompare.begin(), kCompare.end(), spec.kind) == kCompare.end()) return phases;
  const AssertionInfo* info = FindAssertion(spec.kind);
  for (const ParamSpec& param : info == nullptr ? std::span<const ParamSpec>{} : info->params) {
    if (param.refers != ParamRef::kPhase || !spec.params.Has(param.name)) continue;
    if (param.shape == ParamShape::kOne) {
      phases.insert(spec.params.String(param.name));
    } else {
      for (const std::string& name : spec.params.Strings(param.name)) phases.insert(name);
    }
  }
  if (!phases.empty()) return phases;
  for (const JobSpec& job : scenario.jobs) {
    if (const PhaseSpec* solo = scenario.SoloPhaseOf(job.name, phase)) phases.insert(solo->name);
  }
  return phases;
}

// Why there was no contention on a fixture's tags; empty when it was seen.
std::string NoContention(const Record& record, const PhaseRecord& phase,
                         const std::string& fixture) {
  const TagSetPhaseRecord* set = phase.FindTagSet(fixture);
  if (set == nullptr) return fmt::format("the tag set of {} was not observed", fixture);
  const FixtureRecord* facts = record.FindFixture(fixture);
  if (facts != nullptr && !facts->shared) {
    return fmt::format("the queues of {} have tags of their own", fixture);
  }
  const auto contenders =
      std::count_if(phase.queues.begin(), phase.queues.end(), [&](const QueueRecord& queue) {
        return FixtureOfQueue(queue.queue) == fixture && queue.demand > 0;
      });
  if (contenders < 2) return fmt::format("one queue of {} alone was used", fixture);
  if (set->demand <= set->usable_tags) {
    return fmt::format("a demand of {} does not exceed the {} usable tags of {}: deeper jobs would",
                       set->demand, set->usable_tags, fixture);
  }
  if (std::string why = TooFewSamples(*set, fixture); !why.empty()) return why;
  if (set->samples_contended < kContendedFraction * set->samples) {
    return fmt::format("in {} of {} samples alone a queue of {} sat at its limit or waited",
                       set->samples_contended, set->samples, fixture);
  }
  return {};
}

// Why it cannot be said that there was none; empty when there was none.
std::string SomeContention(const Record& record, const PhaseRecord& phase,
                           const std::string& fixture) {
  const FixtureRecord* facts = record.FindFixture(fixture);
  if (facts != nullptr && !facts->shared) return {};
  const TagSetPhaseRecord* set = phase.FindTagSet(fixture);
  if (set == nullptr) return fmt::format("the tag set of {} was not observed", fixture);
  if (set->demand <= set->usable_tags) return {};
  if (std::string why = TooFewSamples(*set, fixture); !why.empty()) return why;
  if (set->samples_contended == 0) return {};
  return fmt::format("contention was seen on {} in {} of {} samples, and none may be", fixture,
                     set->samples_contended, set->samples);
}

std::optional<Gate> RunClockGate(const Record& record) {
  if (record.environment.clock_suspect.empty()) return std::nullopt;
  return Inconclusive("clock suspect: " + record.environment.clock_suspect);
}

}  // namespace

std::optional<Gate> RecordGate(const Record& record, const std::string& phase) {
  // The first line says what happened; the others may be a console.
  const std::string why = record.outcome_why.empty()
                              ? "no reason was given"
                              : record.outcome_why.substr(0, record.outcome_why.find('\n'));
  switch (record.outcome) {
    case RunOutcome::kDied:
      return Broken(fmt::format("the run died: {}", why));
    case RunOutcome::kError:
      return Broken(why);
    case RunOutcome::kUnmet:
      return Inconclusive(fmt::format("this run was skipped: {}", why));
    case RunOutcome::kInterrupted:
      if (record.FindPhase(phase) != nullptr) return RunClockGate(record);
      return Inconclusive(fmt::format("interrupted before phase {} was measured", phase));
    case RunOutcome::kComplete:
      if (record.FindPhase(phase) != nullptr) return RunClockGate(record);
      return Broken(fmt::format("the record has no phase {}", phase));
  }
  return std::nullopt;
}

std::optional<Gate> PhaseGate(const Scenario& scenario, const PhaseRecord& phase,
                              bool errors_are_judged) {
  if (auto gate = WorkersGate(scenario, phase)) return gate;
  if (auto gate = ClockGate(phase)) return gate;
  if (auto gate = WindowGate(scenario, phase)) return gate;
  if (auto gate = BeganGate(scenario, phase)) return gate;
  if (!errors_are_judged) {
    if (auto gate = ErrorsGate(phase)) return gate;
  }
  if (auto gate = LittleGate(phase)) return gate;
  return RateGate(phase);
}

std::optional<Gate> GeneratorGate(const Scenario& scenario, const AssertSpec& spec,
                                  const Record& record, const PhaseRecord& phase) {
  if (!IsAboutRate(spec)) return std::nullopt;
  const std::set<std::string> names = NamesIn(spec);
  std::set<std::string> phases = OtherPhases(scenario, spec, phase.name);
  phases.insert(phase.name);
  for (const PhaseRecord& row : record.phases) {
    if (phases.count(row.name) == 0) continue;
    for (const JobRecord& job : row.jobs) {
      if (!names.empty() && names.count(job.job) + names.count(job.queue) == 0) continue;
      if (auto why = WhyGeneratorBound(row, job)) return Inconclusive(std::move(*why));
    }
  }
  return std::nullopt;
}

std::optional<Gate> ContentionGate(const Scenario& scenario, const AssertSpec& spec,
                                   const Record& record, const PhaseRecord& phase) {
  if (spec.contention == Contention::kAny) return std::nullopt;
  if (spec.contention == Contention::kRequired) {
    if (auto gate = DepthGate(scenario, phase)) return gate;
  }
  for (const std::string& fixture : FixturesOf(scenario, spec, phase)) {
    if (spec.contention == Contention::kRequired) {
      const std::string why = NoContention(record, phase, fixture);
      if (!why.empty()) return Inconclusive("no contention: " + why);
    } else {
      const std::string why = SomeContention(record, phase, fixture);
      if (!why.empty()) return Inconclusive(why);
    }
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> PhaseWarnings(const Scenario& scenario,
                                                               const PhaseRecord& phase) {
  std::vector<std::pair<std::string, std::string>> warnings;
  for (const JobRecord& job : phase.jobs) {
    const JobSpec* spec = scenario.JobInPhase(phase.name, job.job);
    if (job.open_loop && job.open_loop->backlog_at_close > 0) {
      warnings.emplace_back(
          "backlog of " + job.job,
          fmt::format("{} in phase {} had {} I/Os due and not begun when the window closed: the "
                      "response times of those are not known",
                      job.job, phase.name, job.open_loop->backlog_at_close));
    }
    if (!IsPaced(spec) && job.depth_mean < kDepthReached * job.iodepth) {
      warnings.emplace_back(
          "depth of " + job.job,
          fmt::format("{} in phase {} kept {:.1f} I/Os in flight of an iodepth of {}", job.job,
                      phase.name, job.depth_mean, job.iodepth));
    }
    const double busy = CpuFraction(phase, job);
    if (auto why = WhyGeneratorBound(phase, job)) {
      warnings.emplace_back("cpu of " + job.job, std::move(*why));
    } else if (busy > kCpuBusy) {
      warnings.emplace_back("cpu of " + job.job,
                            fmt::format("{} in phase {} was busy on its CPU for {:.0f}% of the "
                                        "time: it may measure the generator",
                                        job.job, phase.name, 100 * busy));
    }
  }
  if (phase.window_ns() > 0 && !phase.partial) {
    if (auto gate = BeganGate(scenario, phase))
      warnings.emplace_back("began", std::move(gate->why));
  }
  for (auto& warning : CounterWarnings(scenario, phase)) warnings.push_back(std::move(warning));
  return warnings;
}

}  // namespace blkfair
