#include "harness/cli/side.h"

#include "results/result_folder.h"

namespace blkfair {

namespace {

Result<void> Store(const Side& side) {
  ResultFolder folder;
  folder.scenario_path = side.loaded.path;
  folder.repeat_command = side.command;
  folder.records = side.List();
  return WriteResultFolder(side.folder, folder);
}

}  // namespace

std::vector<Record> Side::List() const {
  std::vector<Record> list;
  for (const auto& [repeat, record] : records) list.push_back(record);
  return list;
}

Result<void> RunSides(const std::vector<SideRun>& runs, ProgressLine* progress) {
  if (runs.empty()) return {};
  std::vector<ExecuteTask> tasks;
  for (const SideRun& run : runs) {
    tasks.push_back({&run.side->loaded, run.side->options});
    tasks.back().options.repeat = run.repeat;
  }
  Result<void> failed;
  ExecuteAll(tasks, progress, [&](size_t at, const Result<Execution>& execution) {
    if (!execution) {
      if (failed) failed = Fail(execution.error());
      return;
    }
    Side& side = *runs[at].side;
    side.records[runs[at].repeat] = execution->record;
    const Result<void> stored = Store(side);
    if (!stored && failed) failed = Fail(stored.error());
  });
  return failed;
}

}  // namespace blkfair
