#include "tests/conformance/engine_bench.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <ostream>

#include "base/check.h"
#include "engines/engine_table.h"
#include "engines/io_uring_cmd_engine.h"
#include "harness/run/job_loop_steps.h"
#include "tests/conformance/counting_new.h"

namespace blkfair {

namespace {

// `row` with one switch turned, and with those others that the engine then needs turned too.
EngineCase Turned(const EngineCase& row, const ParamSpec& param) {
  EngineCase turned = row;
  const bool value = param.default_text != "true";
  turned.turned = (value ? "with_" : "without_") + std::string(param.name);
  turned.params.Set(param.name, value);
  for (const ParamSpec& other : row.info->params) {
    if (row.info->check == nullptr || !row.info->check(turned.params)) break;
    if (other.name != param.name) turned.params.Set(other.name, other.default_text != "true");
  }
  return turned;
}

bool PassesCommands(const EngineInfo& info) { return info.name == "io_uring_cmd"; }

// A namespace for passthrough where there is none: /dev/null takes every command from a ring and
// completes it at once (drivers/char/mem.c from 6.2).
constexpr const char* kNullDevice = "/dev/null";
Result<NvmeTarget> OpenNullDevice(const EngineOpenArgs& args) {
  NvmeTarget target;
  target.node = args.queue->path;
  target.nsid = 1;
  ASSIGN_OR_RETURN(target.fd, OpenFile(target.node, O_RDWR));
  return target;
}

}  // namespace

std::vector<EngineCase> AllEngineCases() {
  std::vector<EngineCase> rows;
  for (const EngineInfo* info : AllEngines()) {
    EngineCase row{info, "", {}};
    for (const ParamSpec& param : info->params) {
      CHECK(param.type == ParamType::kBool);
      row.params.Set(param.name, param.default_text == "true");
    }
    rows.push_back(row);
    for (const ParamSpec& param : info->params) rows.push_back(Turned(row, param));
  }
  return rows;
}

std::string NameOf(const EngineCase& row) {
  std::string name(row.info->name);
  return row.turned.empty() ? name : name + "_" + row.turned;
}

void PrintTo(const EngineCase& row, std::ostream* out) { *out << NameOf(row); }

EngineBench::EngineBench(const EngineCase& row, const std::string& folder) : row_(row) {
  queue_.fixture = "bench";
  queue_.kind = row.info->name == "sim" ? QueueKind::kSim : QueueKind::kFile;
  queue_.path = kNullDevice;
  queue_.sim = {
      .group = "bench", .policy = "fair", .tags = 4, .service_ns = 100'000, .service_cv = 0.5};
  if (!UsesFile(*row_.info)) return;
  queue_.path = folder + "engine_bench_" + std::to_string(::getpid());
  std::ofstream file(queue_.path, std::ios::binary);
  std::vector<char> block(kBsBytes);
  for (uint64_t i = 0; i < kFileBytes / kBsBytes; i++) {
    std::memset(block.data(), static_cast<int>(i), block.size());
    file.write(block.data(), static_cast<std::streamsize>(block.size()));
  }
}

EngineBench::~EngineBench() {
  if (UsesFile(*row_.info)) ::unlink(queue_.path.c_str());
}

bool EngineBench::UsesFile(const EngineInfo& info) {
  return info.name != "null" && info.name != "sim" && !PassesCommands(info);
}

Result<void> EngineBench::Open(const Options& options) {
  options_ = options;
  // A kernel thread that submits has to get its turns on a busy machine too.
  const bool has_thread = row_.params.Has("sqpoll") && row_.params.Bool("sqpoll");
  if (has_thread) options_.runtime_ns *= 40;
  queue_.size_bytes = options.region_bytes;
  spec_.name = "bench";
  spec_.engine = row_.info->name;
  spec_.engine_params = row_.params;
  spec_.rw = options.rw;
  spec_.bs_bytes = kBsBytes;
  spec_.direct = row_.info->direct_only;
  spec_.iodepth = row_.info->synchronous ? 1 : options.iodepth;
  spec_.batch_submit = options.batch_submit;
  spec_.batch_complete = options.batch_complete;
  ASSIGN_OR_RETURN(IoBuffers buffers, IoBuffers::Take(spec_.iodepth, kBsBytes));
  buffers_ = std::make_unique<IoBuffers>(std::move(buffers));
  if (queue_.kind == QueueKind::kSim) {
    port_ = world_.AddPort(world_.AddQueue(queue_), spec_.iodepth, 1, 0);
  }
  JobSetup setup;
  setup.plan = {&spec_, 0, &queue_, 1};
  EngineOpenArgs args = OpenArgsOf(setup, *buffers_, port_);
  args.writes = options.open_for_writing;
  engine_ = PassesCommands(*row_.info) ? MakeIoUringCmdEngine(row_.params, OpenNullDevice)
                                       : row_.info->create({row_.params});
  return engine_->Open(args);
}

JobRecord EngineBench::Run(Engine* engine, Witness* witness) {
  if (!simulated()) {
    return RunLoop(engine, witness, MonotonicClock(), [](const Need&) {});
  }
  return RunLoop(engine, witness, ManualClockView(&world_.clock()), [this](const Need& need) {
    while (port_->ready() < need.min && world_.NowNs() < need.deadline_ns) {
      world_.AdvanceTo(std::min(world_.NextEventNs(), need.deadline_ns));
    }
  });
}

template <typename ClockT, typename WaitT>
JobRecord EngineBench::RunLoop(Engine* engine, Witness* witness, ClockT clock, WaitT wait) {
  PhasePlan plan;
  plan.ramp_ns = options_.ramp_ns;
  plan.runtime_ns = options_.runtime_ns;
  plan.series_cell_ns = 10'000'000;
  plan.drain_limit_ns = 5'000'000'000;
  plan.jobs.push_back({&spec_, 0, &queue_, 1});
  auto setups = SetUpJobs(plan);
  CHECK(setups.has_value());
  const JobSetup& setup = setups->front();
  JobAccount account(setup.shape);
  JobLoop<ClockT, WitnessObserver> loop(setup.config, setup.workload, engine, &account, clock,
                                        WitnessObserver{witness});
  const int64_t now_ns = clock.NowNs();
  const PhaseTimes times = {now_ns, now_ns + plan.ramp_ns, now_ns + plan.ramp_ns + plan.runtime_ns};
  const uint64_t before = AllocationsOfThisThread();
  loop.Start(times);
  while (!loop.done()) {
    const Need need = loop.Submit();
    wait(need);
    loop.Reap(need);
  }
  allocations_ = AllocationsOfThisThread() - before;
  return RecordOf(setup, loop.outstanding(), engine, &account);
}

}  // namespace blkfair
