#include "harness/run/phase_record.h"

#include <algorithm>

namespace blkfair {

namespace {

void AddSeries(const std::vector<SeriesCell>& from, std::vector<SeriesCell>* to) {
  if (to->size() < from.size()) to->resize(from.size());
  for (size_t i = 0; i < from.size(); i++) {
    SeriesCell& cell = (*to)[i];
    cell.ios += from[i].ios;
    cell.bytes += from[i].bytes;
    cell.lat_sum_ns += from[i].lat_sum_ns;
    cell.lat_max_ns = std::max(cell.lat_max_ns, from[i].lat_max_ns);
    cell.in_flight += from[i].in_flight;
  }
}

QueueRecord RecordOf(const Queue& queue, const std::vector<JobRecord>& jobs) {
  QueueRecord record;
  record.queue = queue.Name();
  bool first = true;
  for (const JobRecord& job : jobs) {
    if (job.queue != record.queue) continue;
    record.demand += job.iodepth;
    record.gap_max_ns = first ? job.gap_max_ns : std::min(record.gap_max_ns, job.gap_max_ns);
    first = false;
    if (!job.directions.empty() && IsTrim(job.directions.front())) continue;
    for (const DirectionRecord& direction : job.directions) {
      record.ios += direction.ios;
      record.bytes += direction.bytes;
    }
    AddSeries(job.series, &record.series);
  }
  return record;
}

}  // namespace

std::vector<Queue> QueuesOf(const PhasePlan& plan) {
  std::vector<Queue> queues;
  for (const JobPlan& job : plan.jobs) {
    const bool known = std::any_of(queues.begin(), queues.end(), [&](const Queue& queue) {
      return queue.Name() == job.queue->Name();
    });
    if (!known) queues.push_back(*job.queue);
  }
  return queues;
}

std::vector<MeteredQueue> MeteredQueuesOf(const PhasePlan& plan, const std::vector<Queue>& queues) {
  std::vector<MeteredQueue> metered;
  for (const Queue& queue : queues) {
    MeteredQueue row{queue.Name(), queue.fixture, 0, 0};
    for (const JobPlan& job : plan.jobs) {
      if (job.queue->Name() != row.name) continue;
      row.demand += job.spec->iodepth;
      row.contenders++;
    }
    metered.push_back(row);
  }
  return metered;
}

void FillPhaseRecord(const std::vector<Queue>& queues, PhaseResult result, PhaseRecord* record) {
  record->window_open_ns = result.window_open_ns;
  record->window_close_ns = result.window_close_ns;
  // A worker that broke or hung when the window had closed has shortened nothing.
  record->partial = result.interrupted || result.cut_short;
  record->jobs = std::move(result.jobs);
  record->sampling = std::move(result.sampling);
  for (const Queue& queue : queues) record->queues.push_back(RecordOf(queue, record->jobs));
}

}  // namespace blkfair
