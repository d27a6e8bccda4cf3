#include "scenarios/language/model_values.h"

#include "base/check.h"

namespace blkfair {

namespace {

Rw RwFrom(const std::string& name) {
  for (const Rw rw : {Rw::kRead, Rw::kWrite, Rw::kRandRead, Rw::kRandWrite, Rw::kRw, Rw::kRandRw,
                      Rw::kTrim, Rw::kRandTrim}) {
    if (RwName(rw) == name) return rw;
  }
  CHECK(false);
}

std::string Text(std::string_view text) { return std::string(text); }
int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t Unsigned(const ParamValues& values, std::string_view name) {
  return static_cast<uint64_t>(values.Int(name));
}
uint32_t Unsigned32(const ParamValues& values, std::string_view name) {
  return static_cast<uint32_t>(values.Int(name));
}

}  // namespace

Contention ContentionFrom(const std::string& name) {
  for (const Contention contention :
       {Contention::kRequired, Contention::kAbsent, Contention::kAny}) {
    if (ContentionName(contention) == name) return contention;
  }
  CHECK(false);
}

// `contention` at the top is a default for assertions, each of which holds its own.
ParamValues ScenarioValues(const Scenario& scenario) {
  ParamValues values;
  values.Set("name", scenario.name);
  values.Set("situation", scenario.situation);
  values.Set("expectation", scenario.expectation);
  values.Set("why", scenario.why);
  values.Set("seed", Signed(scenario.seed));
  values.Set("repeat", int64_t{scenario.repeat});
  values.Set("window", scenario.window_ns);
  values.Set("occupancy_interval", scenario.occupancy_interval_ns);
  return values;
}

void SetScenario(const ParamValues& values, Scenario* scenario) {
  scenario->name = values.String("name");
  scenario->situation = values.String("situation");
  scenario->expectation = values.String("expectation");
  scenario->why = values.String("why");
  scenario->seed = Unsigned(values, "seed");
  scenario->repeat = static_cast<uint32_t>(values.Int("repeat"));
  scenario->window_ns = values.Int("window");
  scenario->occupancy_interval_ns = values.Int("occupancy_interval");
}

ParamValues GuestValues(const GuestSpec& guest) {
  ParamValues values;
  values.Set("vcpus", int64_t{guest.vcpus});
  values.Set("memory", Signed(guest.memory_bytes));
  return values;
}

GuestSpec GuestFrom(const ParamValues& values) {
  return {.vcpus = Unsigned32(values, "vcpus"), .memory_bytes = Unsigned(values, "memory")};
}

ParamValues FixtureValues(const FixtureSpec& fixture) {
  ParamValues values;
  values.Set("name", fixture.name);
  values.Set("kind", fixture.kind);
  return values;
}

ParamValues JobValues(const JobSpec& job) {
  ParamValues values;
  values.Set("name", job.name);
  values.Set("queue", job.queue.Name());
  values.Set("rw", Text(RwName(job.rw)));
  if (Reads(job.rw) && Writes(job.rw)) {
    values.Set("rwmixread", int64_t{job.rwmixread_percent});
  }
  if (Trims(job.rw)) values.Set("trim", Text(TrimWayName(job.trim)));
  values.Set("bs", Signed(job.bs_bytes));
  values.Set("iodepth", int64_t{job.iodepth});
  values.Set("batch_submit", int64_t{job.batch_submit});
  values.Set("batch_complete", int64_t{job.batch_complete});
  values.Set("numjobs", int64_t{job.numjobs});
  values.Set("engine", job.engine);
  values.Set("isolation", Text(IsolationName(job.isolation)));
  values.Set("direct", job.direct);
  values.Set("offset", Signed(job.offset_bytes));
  if (job.size_bytes > 0) values.Set("size", Signed(job.size_bytes));
  values.Set("seed", Signed(job.seed));
  if (job.rate_iops > 0) {
    values.Set("rate_iops", job.rate_iops);
    values.Set("rate_process", Text(RateProcessName(job.rate_process)));
  }
  values.Set("think_time", job.think_time_ns);
  values.Set("start_delay", job.start_delay_ns);
  if (!job.cpus.empty()) {
    values.Set("cpus", std::vector<int64_t>(job.cpus.begin(), job.cpus.end()));
  }
  values.Set("nice", int64_t{job.nice});
  values.Set("ioprio", job.ioprio);
  return values;
}

JobSpec JobFrom(const ParamValues& values) {
  JobSpec job;
  job.name = values.String("name");
  job.rw = RwFrom(values.String("rw"));
  job.rwmixread_percent = Unsigned32(values, "rwmixread");
  if (values.String("trim") == TrimWayName(TrimWay::kAsync)) job.trim = TrimWay::kAsync;
  job.bs_bytes = Unsigned(values, "bs");
  job.iodepth = Unsigned32(values, "iodepth");
  job.batch_submit = Unsigned32(values, "batch_submit");
  job.batch_complete = Unsigned32(values, "batch_complete");
  job.numjobs = Unsigned32(values, "numjobs");
  job.isolation = values.String("isolation") == IsolationName(Isolation::kProcess)
                      ? Isolation::kProcess
                      : Isolation::kThread;
  job.direct = values.Bool("direct");
  job.offset_bytes = Unsigned(values, "offset");
  if (values.Has("size")) job.size_bytes = Unsigned(values, "size");
  job.seed = Unsigned(values, "seed");
  if (values.Has("rate_iops")) job.rate_iops = values.Number("rate_iops");
  if (values.String("rate_process") == RateProcessName(RateProcess::kPoisson)) {
    job.rate_process = RateProcess::kPoisson;
  }
  job.think_time_ns = values.Int("think_time");
  job.start_delay_ns = values.Int("start_delay");
  if (values.Has("cpus")) {
    for (const int64_t cpu : values.Ints("cpus")) job.cpus.push_back(static_cast<uint32_t>(cpu));
  }
  job.nice = static_cast<int32_t>(values.Int("nice"));
  job.ioprio = values.String("ioprio");
  return job;
}

ParamValues PhaseValues(const PhaseSpec& phase) {
  ParamValues values;
  values.Set("name", phase.name);
  values.Set("jobs", phase.jobs);
  if (!phase.sweep_of.empty()) values.Set("sweep_of", phase.sweep_of);
  values.Set("settle", phase.settle_ns);
  values.Set("ramp", phase.ramp_ns);
  values.Set("runtime", phase.runtime_ns);
  return values;
}

PhaseSpec PhaseFrom(const ParamValues& values) {
  PhaseSpec phase;
  phase.name = values.String("name");
  phase.jobs = values.Strings("jobs");
  if (values.Has("sweep_of")) phase.sweep_of = values.String("sweep_of");
  phase.settle_ns = values.Int("settle");
  phase.ramp_ns = values.Int("ramp");
  phase.runtime_ns = values.Int("runtime");
  phase.solo = phase.jobs.size() == 1;
  return phase;
}

ParamValues AssertValues(const AssertSpec& assertion) {
  ParamValues values;
  values.Set("name", assertion.name);
  values.Set("kind", assertion.kind);
  values.Set("phases", assertion.phases);
  values.Set("contention", Text(ContentionName(assertion.contention)));
  return values;
}

ParamValues AxisValues(const AxisSpec& axis) {
  ParamValues values;
  values.Set("key", axis.key);
  values.Set("values", axis.values);
  return values;
}

}  // namespace blkfair
