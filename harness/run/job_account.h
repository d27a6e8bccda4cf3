// JobAccount: everything that is counted about one job in one phase. All memory is taken by the
// constructor; from the barrier to the drain nothing here allocates, locks or throws. Owned by the
// job's loop and used by its thread; turned into a JobRecord afterwards. Times are those of the
// job's clock; the record counts from the barrier.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/latency.h"
#include "base/stamps.h"
#include "engines/engine.h"
#include "results/record.h"

namespace blkfair {

struct PhaseTimes {
  int64_t barrier_ns = 0;
  int64_t open_ns = 0;  // the window is [open, close)
  int64_t close_ns = 0;
};

class JobAccount {
 public:
  struct Shape {
    bool reads = true;
    bool writes = false;
    bool has_slat = true;
    uint32_t bs_bytes = 4096;
    int64_t cell_ns = 100'000'000;
    int64_t length_ns = 0;  // from the barrier to the window's close
  };
  enum Part : uint8_t { kRamp = 0, kWindow = 1, kDrain = 2 };

  explicit JobAccount(const Shape& shape);

  void Begin(const PhaseTimes& times);
  // The phase ends earlier than planned. A close before what has been counted already is moved up
  // to that.
  void CloseAt(int64_t close_ns);

  // Time has come to now_ns. Before every change of what is in flight.
  void Advance(int64_t now_ns) {
    PassEdges(now_ns);
    depth_integral_ += static_cast<int64_t>(in_flight_) * (now_ns - last_ns_);
    last_ns_ = now_ns;
    if (in_flight_ > depth_max_) depth_max_ = in_flight_;
  }
  // Time has come to now_ns; nothing in flight changed.
  void PassEdges(int64_t now_ns) {
    if (now_ns >= edge_ns_) [[unlikely]]
      PassEdgesSlowly(now_ns);
  }
  Part part() const { return part_; }
  bool closed() const { return part_ == kDrain; }
  int64_t close_ns() const { return times_.close_ns; }

  // An I/O is in flight from when it is made until it is reaped, so that the time mean of their
  // number is I/Os per second times mean latency (Little's law).
  void Made(uint32_t count) { in_flight_ += count; }
  // Made, but never handed to the engine.
  void Dropped(uint32_t count);

  void CountSubmitCall() { submit_calls_[part_]++; }
  void CountReapCall() { reap_calls_[part_]++; }

  // One reaped batch, all stamped now_ns (Advance was called with it): call Batch(), then Add or
  // AddError for each of its completions, then EndBatch().
  struct Batch {
    int64_t now_ns;
    Part part;
    uint32_t completed = 0;  // without error
    uint32_t others = 0;     // with error, or with impossible stamps
    uint64_t lat_sum_ns = 0;
    int64_t lat_max_ns = 0;
  };
  Batch BeginBatch(int64_t now_ns) const { return {.now_ns = now_ns, .part = part_}; }
  template <bool kHasSlat>
  void Add(Batch* batch, const Stamps& stamps, Direction direction) {
    const Latencies latencies = LatenciesOf(stamps, batch->now_ns);
    // No I/O can have begun before the barrier, nor been issued before it began, nor been reaped
    // before it was issued.
    if ((latencies.slat_ns | latencies.clat_ns | (stamps.start_ns - times_.barrier_ns)) < 0)
        [[unlikely]] {
      clock_anomalies_++;
      batch->others++;
      return;
    }
    batch->completed++;
    batch->lat_sum_ns += static_cast<uint64_t>(latencies.lat_ns);
    batch->lat_max_ns = std::max(batch->lat_max_ns, latencies.lat_ns);
    if (batch->part != kWindow) return;
    DirectionAccount& account = *directions_[static_cast<size_t>(direction)];
    if constexpr (kHasSlat) account.slat->Add(latencies.slat_ns);
    account.clat.Add(latencies.clat_ns);
    account.lat.Add(latencies.lat_ns);
  }
  // `result` is -errno, or the bytes of a short I/O.
  void AddError(Batch* batch, Direction direction, int32_t result);
  void EndBatch(const Batch& batch) {
    in_flight_ -= batch.completed + batch.others;
    ios_[batch.part] += batch.completed;
    if (batch.part == kDrain || batch.completed == 0) return;
    SeriesCell& cell = series_[cell_];
    cell.ios += batch.completed;
    cell.lat_sum_ns += batch.lat_sum_ns;
    cell.lat_max_ns = std::max(cell.lat_max_ns, batch.lat_max_ns);
    if (batch.part != kWindow) return;
    if (batch.now_ns - gap_from_ns_ > gap_max_ns_) NoteGap(batch.now_ns);
    gap_from_ns_ = batch.now_ns;
  }

  uint64_t errors() const;

  // After the drain, once: moves what was counted into `record`. `outstanding` I/Os never came
  // back.
  void Finish(uint32_t outstanding, JobRecord* record);

 private:
  // errno values are below 134 on Linux; what lies beyond is counted as the last.
  static constexpr size_t kErrnos = 256;

  struct DirectionAccount {
    std::optional<LatencyStats> slat;
    LatencyStats clat;
    LatencyStats lat;
  };

  void PassEdgesSlowly(int64_t now_ns);
  void PassOpen();
  void PassClose();
  int64_t CellEndNs() const {
    return times_.barrier_ns + static_cast<int64_t>(cell_ + 1) * shape_.cell_ns;
  }
  void FindNextEdge();
  void NoteGap(int64_t end_ns) {
    gap_max_ns_ = end_ns - gap_from_ns_;
    gap_max_at_ns_ = gap_from_ns_;
  }

  Shape shape_;
  PhaseTimes times_;
  Part part_ = kRamp;
  int64_t edge_ns_ = std::numeric_limits<int64_t>::max();  // the next cell end, open or close
  int64_t last_ns_ = 0;
  int64_t depth_integral_ = 0;   // of in_flight_ over time, ns, since the window's open
  int64_t window_integral_ = 0;  // its value at the close
  uint32_t in_flight_ = 0;
  uint32_t depth_max_ = 0;
  uint32_t in_flight_at_close_ = 0;
  size_t cell_ = 0;
  std::vector<SeriesCell> series_;
  int64_t gap_from_ns_ = 0;
  int64_t gap_max_ns_ = 0;
  int64_t gap_max_at_ns_ = 0;
  bool gap_censored_ = false;
  uint64_t clock_anomalies_ = 0;
  std::array<uint64_t, 3> ios_ = {};  // by Part
  std::array<uint64_t, 3> submit_calls_ = {};
  std::array<uint64_t, 3> reap_calls_ = {};
  std::array<std::optional<DirectionAccount>, kDirections> directions_;
  std::array<std::array<uint64_t, kErrnos>, kDirections> errors_ = {};
  std::array<uint64_t, kDirections> shorts_ = {};
};

}  // namespace blkfair
