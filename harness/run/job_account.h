// JobAccount: everything that is counted about one job in one phase. All memory is taken by the
// constructor, from a resource that processes may share; from the barrier to the drain nothing here
// allocates, locks or throws. Owned by the job's loop and used by its thread; turned into a
// JobRecord afterwards. Times are those of the job's clock; the record counts from the barrier.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "base/clock_watch.h"
#include "base/latency.h"
#include "base/stamps.h"
#include "engines/engine.h"
#include "harness/run/unfinished.h"
#include "results/record.h"

namespace blkfair {

// "EIO"; "E4095" for one without a name.
std::string ErrnoName(int os_errno);

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
    bool trims = false;  // then every I/O is one: not with the others
    bool has_slat = true;
    bool open_loop = false;  // responses are measured, and how the rate is kept
    uint32_t iodepth = 1;
    uint32_t bs_bytes = 4096;
    uint32_t batch_submit = 1;
    int64_t cell_ns = 100'000'000;
    int64_t length_ns = 0;  // from the barrier to the window's close
  };
  enum Part : uint8_t { kRamp = 0, kWindow = 1, kDrain = 2 };

  explicit JobAccount(const Shape& shape,
                      std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  JobAccount(const JobAccount&) = delete;
  JobAccount& operator=(const JobAccount&) = delete;

  // `watch` may be null; otherwise it outlives the account, and is asked every 100 ms and after
  // whatever looks odd.
  void Begin(const PhaseTimes& times, ClockWatch* watch = nullptr);
  // The phase ends earlier than planned; not before what has been counted already.
  void CloseAt(int64_t close_ns);

  // Time has come to now_ns with `in_flight` I/Os in flight since the last call. Before every
  // change of that number. False: no cell has ended, and the part is the same as before.
  [[gnu::always_inline]] inline bool Advance(int64_t now_ns, uint32_t in_flight) {
    if (now_ns < edge_ns_) [[likely]]
      return false;
    PassEdges(now_ns, in_flight);
    return true;
  }
  Part part() const { return part_; }
  bool closed() const { return part_ == kDrain; }
  int64_t close_ns() const { return times_.close_ns; }

  // An I/O is in flight from when it is made until it is reaped, so that the time mean of their
  // number is I/Os per second times mean latency (Little's law). `start_sum_ns` sums the starts of
  // what was made; `in_flight` includes it.
  void Made(uint64_t start_sum_ns, uint32_t in_flight) {
    depth_anchor_ -= start_sum_ns;
    if (in_flight > depth_max_) depth_max_ = in_flight;
  }
  // Made, but never handed to the engine before the close.
  void Dropped(uint32_t count) { in_flight_at_close_ -= count; }

  // After Advance to the end of the call: both counts of it are on one side of every edge.
  void CountSubmitCall() { counts_.submit_calls++; }
  // It handed over so many; only of jobs whose batch_submit is not 1.
  void CountSubmitSize(uint32_t ios) { sizes_now_[ios]++; }
  void CountReapCall() { counts_.reap_calls++; }

  // One reaped batch, all stamped now_ns (Advance was called with it): BeginBatch, then Add or
  // AddError for each of its completions, then EndBatch. A Batch is meant to stay in registers.
  struct Batch {
    int64_t now_ns;
    int64_t timed_from_ns;
    uint32_t left_out = 0;  // with error, or with impossible stamps
    uint64_t lat_sum_ns = 0;
    uint64_t lat_max_ns = 0;
    // I/Os that were issued together have one clat: such a run is added at its end.
    LatencyStats* run = nullptr;
    int64_t run_clat_ns = 0;
    uint32_t run_length = 0;
  };
  Batch BeginBatch(int64_t now_ns) const {
    return {.now_ns = now_ns, .timed_from_ns = timed_from_ns_};
  }
  template <bool kHasSlat>
  [[gnu::always_inline]] inline void Add(Batch& batch, const Stamps& stamps, Direction direction) {
    const Latencies latencies = LatenciesOf(stamps, batch.now_ns);
    // What is negative, or beyond a histogram, has one of its upper bits set.
    if (static_cast<uint64_t>(latencies.slat_ns | latencies.clat_ns) >= kPartLimitNs ||
        stamps.start_ns < batch.timed_from_ns) [[unlikely]] {
      if (IsImpossible(latencies, stamps.start_ns)) {
        NoteAnomaly(batch.now_ns);
        batch.left_out++;
        return;
      }
      NoteLat(batch, latencies.lat_ns);
      if (part_ != kWindow) return;
      AddLong<kHasSlat>(latencies.slat_ns, latencies.clat_ns, latencies.lat_ns, direction);
      return;
    }
    NoteLat(batch, latencies.lat_ns);
    DirectionAccount& account = *by_direction_[static_cast<size_t>(direction)];
    if constexpr (kHasSlat) account.slat->AddInRange(latencies.slat_ns);
    account.lat.AddInRange(latencies.lat_ns);
    if (batch.run != &account.clat || batch.run_clat_ns != latencies.clat_ns) {
      EndRun(batch);
      batch.run = &account.clat;
      batch.run_clat_ns = latencies.clat_ns;
      batch.run_length = 0;
    }
    batch.run_length++;
  }
  // `result` is -errno, or the bytes of a short I/O.
  void AddError(Batch& batch, Direction direction, int32_t result) {
    batch.left_out++;
    CountError(direction, result);
  }
  // `count`: completions of the batch, of whatever kind.
  [[gnu::always_inline]] inline void EndBatch(const Batch& batch, uint32_t count) {
    EndRun(batch);
    depth_anchor_ += static_cast<uint64_t>(batch.now_ns) * count;
    const uint32_t completed = count - batch.left_out;
    if (completed == 0) return;
    counts_.ios += completed;
    cell_->ios += completed;
    cell_->lat_sum_ns += batch.lat_sum_ns;
    cell_->lat_max_ns = std::max(cell_->lat_max_ns, static_cast<int64_t>(batch.lat_max_ns));
    // Unsigned: a gap below zero is one too, though of another kind.
    if (static_cast<uint64_t>(batch.now_ns - gap_from_ns_) > static_cast<uint64_t>(gap_max_ns_))
        [[unlikely]]
      NoteGap(batch.now_ns);
    gap_from_ns_ = batch.now_ns;
  }

  // After Advance, of every I/O that is in flight, if it took time past the window's open or its
  // close. `due_ns` counts where the loop is open.
  [[gnu::noinline]] void NoteUnfinished(Part before, const Stamps& stamps, int64_t due_ns);

  // Open loop. An I/O came due at due_ns; one found no free slot when it was due; so many are due
  // and not begun; for so long (if positive) the loop alone held one up; one completed so long
  // after it was due, in the batch that was ended last.
  void NoteDue(int64_t due_ns) { open_loop_.due += IsOfWindow(due_ns) ? 1 : 0; }
  void NoteLate(int64_t due_ns) { open_loop_.late += IsOfWindow(due_ns) ? 1 : 0; }
  void NoteBacklog(uint64_t backlog) {
    if (part_ == kWindow) open_loop_.backlog_max = std::max(open_loop_.backlog_max, backlog);
  }
  void NoteBehind(int64_t ns) {
    if (part_ == kWindow) open_loop_.behind_ns += std::max<int64_t>(ns, 0);
  }
  // At the close, so many are due and not begun; of each of them that has not even been made, when
  // it was due.
  void AddBacklogAtClose(uint64_t backlog) {
    open_loop_.backlog_at_close += backlog;
    open_loop_.backlog_max = std::max(open_loop_.backlog_max, open_loop_.backlog_at_close);
  }
  void NoteOverdue(int64_t due_ns) { overdue_->Add(times_.close_ns - due_ns); }
  void AddResponse(Direction direction, const Stamps& stamps, int64_t due_ns, int64_t now_ns) {
    const Latencies latencies = LatenciesOf(stamps, now_ns);
    if (part_ != kWindow || IsImpossible(latencies, stamps.start_ns)) return;
    // Nothing begins before it is due, by a clock that does not run backwards.
    if (now_ns < due_ns) return NoteAnomaly(now_ns);
    by_direction_[static_cast<size_t>(direction)]->response->Add(now_ns - due_ns);
  }

  uint64_t errors() const;

  // After the drain, once: moves what was counted into `record`. `outstanding` I/Os never came
  // back. The histograms' memory is moved too: it goes with the account's resource.
  void Finish(uint32_t outstanding, JobRecord* record);
  // Instead, of a job whose thread hangs in the kernel: how long it has waited by the close, and
  // how deep it was. Should the thread come back meanwhile, these are the figures of some moment;
  // the histograms are its own, and not looked at.
  [[gnu::no_sanitize("thread")]] void NoteHung(int64_t close_ns, uint32_t iodepth,
                                               JobRecord* record) const;

 private:
  // errno values are below 134 on Linux; what lies beyond is counted as the last.
  static constexpr size_t kErrnos = 256;

  struct DirectionAccount {
    explicit DirectionAccount(std::pmr::memory_resource* memory) : clat(memory), lat(memory) {}
    std::optional<LatencyStats> slat;
    LatencyStats clat;
    LatencyStats lat;
    std::optional<LatencyStats> response;
  };

  // slat and clat below this make a lat within a histogram's range.
  static constexpr uint64_t kPartLimitNs = uint64_t{1} << (Histogram::kMaxBits - 1);

  // No I/O can have begun before the barrier, nor been issued before it began, nor been reaped
  // before it was issued; and one during which the clock stepped cannot be timed.
  bool IsImpossible(const Latencies& latencies, int64_t start_ns) const {
    return (latencies.slat_ns | latencies.clat_ns | (start_ns - possible_from_ns_)) < 0;
  }
  [[gnu::always_inline]] static inline void NoteLat(Batch& batch, int64_t lat_ns) {
    batch.lat_sum_ns += static_cast<uint64_t>(lat_ns);
    batch.lat_max_ns = std::max(batch.lat_max_ns, static_cast<uint64_t>(lat_ns));
  }
  template <bool kHasSlat>
  [[gnu::noinline]] void AddLong(int64_t slat_ns, int64_t clat_ns, int64_t lat_ns,
                                 Direction direction) {
    DirectionAccount& account = *by_direction_[static_cast<size_t>(direction)];
    if constexpr (kHasSlat) account.slat->Add(slat_ns);
    account.clat.Add(clat_ns);
    account.lat.Add(lat_ns);
  }
  [[gnu::always_inline]] static inline void EndRun(const Batch& batch) {
    if (batch.run != nullptr) batch.run->AddInRange(batch.run_clat_ns, batch.run_length);
  }
  bool IsOfWindow(int64_t due_ns) const {
    return due_ns >= times_.open_ns && due_ns < times_.close_ns;
  }
  void CountError(Direction direction, int32_t result);
  void PassEdges(int64_t now_ns, uint32_t in_flight);
  void PassOpen(uint32_t in_flight);
  void PassClose(uint32_t in_flight);
  int64_t CellEndNs() const {
    return times_.barrier_ns + (cell_ - series_.data() + 1) * shape_.cell_ns;
  }
  // The integral over time of what is in flight, up to `at_ns`, from an arbitrary origin: each I/O
  // that was reaped gave completion - start, each that is in flight gives at_ns - start. Modulo
  // 2^64; only differences are used.
  uint64_t DepthIntegral(int64_t at_ns, uint32_t in_flight) const {
    return depth_anchor_ + static_cast<uint64_t>(at_ns) * in_flight;
  }
  void FindNextEdge();
  void FindTimedFrom();
  void NoteGap(int64_t end_ns);
  // The clock went backwards: what it does next is looked at closely.
  void NoteAnomaly(int64_t now_ns);
  void LookAtClock(int64_t now_ns);

  Shape shape_;
  PhaseTimes times_;
  ClockWatch* watch_ = nullptr;
  int64_t watch_at_ns_ = std::numeric_limits<int64_t>::max();  // when it is asked next
  int64_t possible_from_ns_ = 0;  // the barrier, or where the clock stepped last
  int64_t timed_from_ns_ = 0;     // the same in the window, and out of reach outside of it
  Part part_ = kRamp;
  int64_t edge_ns_ = std::numeric_limits<int64_t>::max();  // the next cell end, open, close, look
  uint64_t depth_anchor_ = 0;                              // sum of completions less sum of starts
  uint64_t open_integral_ = 0;                             // DepthIntegral at the open
  uint64_t window_integral_ = 0;
  uint32_t depth_max_ = 0;
  uint32_t in_flight_at_close_ = 0;
  SeriesCell* cell_ = nullptr;  // the current one of series_; after the close, of no interest
  std::pmr::vector<SeriesCell> series_;
  int64_t gap_from_ns_ = 0;
  int64_t gap_max_ns_ = 0;  // after the close: out of reach
  int64_t gap_max_in_window_ns_ = 0;
  int64_t gap_max_at_ns_ = 0;
  bool gap_censored_ = false;
  uint64_t clock_anomalies_ = 0;
  Unfinished unfinished_at_open_;
  Unfinished unfinished_at_close_;
  OpenLoopRecord open_loop_;          // but for what the job was asked
  std::optional<Histogram> overdue_;  // open loop: ages at the close of what had not been made
  // From the barrier on, and what they were at the open and at the close.
  struct Counts {
    uint64_t ios = 0;
    uint64_t submit_calls = 0;
    uint64_t reap_calls = 0;
  };
  Counts counts_;
  Counts counts_at_open_;
  Counts counts_at_close_;
  // Calls by how many they handed over, up to batch_submit, outside the window and in it.
  std::pmr::vector<uint64_t> sizes_outside_;
  std::pmr::vector<uint64_t> sizes_in_window_;
  uint64_t* sizes_now_ = nullptr;  // one of the two
  std::array<std::optional<DirectionAccount>, kDirections> directions_;
  std::array<DirectionAccount*, kDirections> by_direction_ = {};  // into directions_
  std::array<std::array<uint64_t, kErrnos>, kDirections> errors_ = {};
  std::array<uint64_t, kDirections> shorts_ = {};
};

}  // namespace blkfair
