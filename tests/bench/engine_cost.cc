// One job as blkfair runs it, on a character device: what an I/O costs the generator. Prints one
// line of JSON: I/Os completed in the window, its length, and the processor time of the job's
// thread. The other tools of this folder run it, under callgrind or beside fio.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/kernel_fs.h"
#include "engines/engine_table.h"
#include "harness/run/thread_executor.h"

namespace blkfair {
namespace {

struct Options {
  std::string engine = "io_uring";
  std::string path = "/dev/zero";
  uint32_t iodepth = 1;
  uint32_t batch = 1;
  uint32_t bs_bytes = 4096;
  double seconds = 1;
};

int Main(const Options& options) {
  const EngineInfo* info = FindEngine(options.engine);
  if (info == nullptr) {
    std::fprintf(stderr, "engine_cost: there is no engine %s\n", options.engine.c_str());
    return 2;
  }
  Queue queue;
  queue.fixture = "sink";
  queue.kind = QueueKind::kChar;
  queue.path = options.path;
  JobSpec job;
  job.name = "cost";
  job.engine = options.engine;
  job.direct = false;
  job.bs_bytes = options.bs_bytes;
  job.iodepth = options.iodepth;
  job.batch_submit = options.batch;
  job.batch_complete = options.batch;
  job.size_bytes = uint64_t{1} << 30;
  for (const ParamSpec& param : info->params) {
    if (param.type != ParamType::kBool) continue;
    job.engine_params.Set(param.name, param.default_text == "true");
  }
  PhasePlan plan;
  plan.jobs.push_back({&job, 0, &queue, 1});
  plan.runtime_ns = static_cast<int64_t>(options.seconds * 1e9);
  const KernelFs fs(KernelRoots::Real());
  const Result<PhaseResult> result = ThreadExecutor(&fs).RunPhase(plan, {});
  if (!result) {
    std::fprintf(stderr, "engine_cost: %s\n", result.error().message.c_str());
    return 3;
  }
  const JobRecord& record = result->jobs.front();
  uint64_t ios = 0;
  uint64_t errors = 0;
  for (const DirectionRecord& direction : record.directions) ios += direction.ios;
  for (const auto& [what, count] : record.errors) errors += count;
  std::printf(
      "{\"ios\": %llu, \"errors\": %llu, \"window_ns\": %lld, \"user_ns\": %lld, "
      "\"system_ns\": %lld}\n",
      static_cast<unsigned long long>(ios), static_cast<unsigned long long>(errors),
      static_cast<long long>(result->window_close_ns - result->window_open_ns),
      static_cast<long long>(record.cpu_user_ns), static_cast<long long>(record.cpu_system_ns));
  return 0;
}

}  // namespace
}  // namespace blkfair

int main(int argc, char** argv) {
  blkfair::Options options;
  CLI::App app("What one I/O costs the generator");
  app.add_option("--engine", options.engine);
  app.add_option("--path", options.path);
  app.add_option("--iodepth", options.iodepth);
  app.add_option("--batch", options.batch);
  app.add_option("--bs", options.bs_bytes);
  app.add_option("--seconds", options.seconds);
  bool list = false;
  app.add_flag("--list", list, "The engines that run on a character device");
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const blkfair::EngineInfo* info : blkfair::AllEngines()) {
      if (info->name != "sim") std::printf("%s\n", std::string(info->name).c_str());
    }
    return 0;
  }
  return blkfair::Main(options);
}
