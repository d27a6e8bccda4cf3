#include "harness/measure/kernel_counters.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "kmod_setup/kernel_objects.h"

namespace blkfair {

namespace {

constexpr uint64_t kSectorBytes = 512;
constexpr int64_t kMillisecondNs = 1'000'000;
constexpr std::array<const char*, BlockStat::kKinds> kKindNames = {"read", "write", "trim"};

KernelCountsRecord CountsBetween(const BlockStat::Counts& open, const BlockStat::Counts& close,
                                 const char* direction) {
  KernelCountsRecord record;
  record.direction = direction;
  record.requests = CounterDelta(open.requests, close.requests);
  record.merges = CounterDelta(open.merges, close.merges);
  record.bytes = kSectorBytes * CounterDelta(open.sectors, close.sectors);
  record.time_ns = kMillisecondNs * static_cast<int64_t>(CounterDelta(open.time_ms, close.time_ms));
  return record;
}

}  // namespace

KernelCounters::KernelCounters(const KernelFs& fs, const TagWaits& waits,
                               std::span<const Queue> queues)
    : fs_(fs), waits_(waits) {
  for (const Queue& queue : queues) {
    Row row;
    row.queue = queue.Name();
    if (queue.kind == QueueKind::kBlock) {
      const std::string folder = fs.roots().sys + "/block/" + queue.disk;
      row.path = folder + "/stat";
      row.dev = ParseDevNumber(fs.ReadLine(folder + "/dev").value_or(""));
      if (fs.ReadLine(folder + "/queue/iostats").value_or("") == "0") {
        row.path.clear();
        row.absent = "iostats is off on " + queue.disk;
      }
      // With a scheduler a request exists, and its time runs, before it has a tag.
      const std::string scheduler = fs.ReadLine(folder + "/queue/scheduler").value_or("");
      row.time_is_tag_time = ChosenValue(scheduler) == "none";
    } else {
      row.absent = "it is no block device";
    }
    rows_.push_back(std::move(row));
  }
}

void KernelCounters::Read(int64_t at_ns, Reading* reading) {
  const MonotonicClock clock;
  const int64_t began_ns = clock.NowNs();
  reading->at_ns.resize(rows_.size());
  reading->stats.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); i++) {
    Row& row = rows_[i];
    if (row.path.empty()) continue;
    reading->at_ns[i] = at_ns + clock.NowNs() - began_ns;
    const Result<std::string> text = fs_.Read(row.path);
    const Result<BlockStat> stat = text ? ParseBlockStat(*text) : Fail(text.error());
    if (stat) {
      reading->stats[i] = *stat;
    } else {
      row.absent = stat.error().message;
    }
  }
  reading->waits = waits_.Read();
}

void KernelCounters::FinishQueue(size_t row, QueueRecord* record) const {
  const bool both = !open_.stats.empty() && !close_.stats.empty();
  if (both && waits_.counting() && rows_[row].dev) {
    const auto count = [&](const Reading& reading) {
      const auto it = reading.waits.find(*rows_[row].dev);
      return it == reading.waits.end() ? 0 : it->second;
    };
    record->tag_waits = count(close_) - count(open_);
  }
  if (!both || !open_.stats[row] || !close_.stats[row]) {
    const std::string& absent = rows_[row].absent;
    record->kernel_absent = absent.empty() ? "the window was cut short" : absent;
    return;
  }
  const BlockStat& open = *open_.stats[row];
  const BlockStat& close = *close_.stats[row];
  KernelCountersRecord counters;
  counters.open_at_ns = open_.at_ns[row];
  counters.close_at_ns = close_.at_ns[row];
  counters.in_flight_at_open = open.in_flight;
  counters.in_flight_at_close = close.in_flight;
  counters.time_is_tag_time = rows_[row].time_is_tag_time;
  for (size_t i = 0; i < BlockStat::kKinds; i++) {
    counters.counts.push_back(CountsBetween(open.kinds[i], close.kinds[i], kKindNames[i]));
  }
  record->kernel = std::move(counters);
}

void KernelCounters::Finish(std::vector<QueueRecord>* queues) const {
  CHECK(queues != nullptr);
  for (QueueRecord& record : *queues) {
    for (size_t row = 0; row < rows_.size(); row++) {
      if (rows_[row].queue == record.queue) FinishQueue(row, &record);
    }
  }
}

}  // namespace blkfair
