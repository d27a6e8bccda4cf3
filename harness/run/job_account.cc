#include "harness/run/job_account.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"

namespace blkfair {

namespace {

constexpr int64_t kWatchEveryNs = 100'000'000;
constexpr const char* kDirectionNames[kDirections] = {"read", "write"};
constexpr const char* kTrimNames[kDirections] = {"read", "trim"};

}  // namespace

std::string ErrnoName(int os_errno) {
  const char* name = ::strerrorname_np(os_errno);
  return name != nullptr ? name : "E" + std::to_string(os_errno);
}

JobAccount::JobAccount(const Shape& shape, std::pmr::memory_resource* memory)
    : shape_(shape),
      series_(memory),
      unfinished_at_open_(shape.iodepth, memory),
      unfinished_at_close_(shape.iodepth, memory),
      sizes_outside_(shape.batch_submit + 1, memory),
      sizes_in_window_(shape.batch_submit + 1, memory) {
  CHECK(shape.cell_ns > 0);
  CHECK(shape.length_ns >= 0);
  const auto cells = (shape.length_ns + shape.cell_ns - 1) / shape.cell_ns;
  // One more than are used: for the time after the close.
  series_.resize(static_cast<size_t>(cells) + 1);
  cell_ = series_.data();
  sizes_now_ = sizes_outside_.data();
  CHECK(!shape.trims || !(shape.reads || shape.writes));
  if (shape.open_loop) overdue_.emplace(memory);
  const bool used[kDirections] = {shape.reads, shape.writes || shape.trims};
  for (size_t i = 0; i < kDirections; i++) {
    if (!used[i]) continue;
    directions_[i].emplace(memory);
    if (shape.has_slat) directions_[i]->slat.emplace(memory);
    if (shape.open_loop) directions_[i]->response.emplace(memory);
    by_direction_[i] = &*directions_[i];
  }
}

void JobAccount::Begin(const PhaseTimes& times, ClockWatch* watch) {
  CHECK(times.barrier_ns <= times.open_ns);
  CHECK(times.open_ns <= times.close_ns);
  CHECK(times.close_ns - times.barrier_ns <= shape_.length_ns);
  times_ = times;
  possible_from_ns_ = times.barrier_ns;
  FindTimedFrom();
  watch_ = watch;
  if (watch != nullptr) watch_at_ns_ = times.barrier_ns;
  FindNextEdge();
}

void JobAccount::CloseAt(int64_t close_ns) {
  if (closed() || close_ns >= times_.close_ns) return;
  times_.close_ns = close_ns;
  if (part_ == kRamp) times_.open_ns = std::min(times_.open_ns, times_.close_ns);
  FindNextEdge();
}

void JobAccount::CountError(Direction direction, int32_t result) {
  const auto i = static_cast<size_t>(direction);
  if (result >= 0) {
    shorts_[i]++;
  } else {
    errors_[i][std::min(static_cast<size_t>(-int64_t{result}), kErrnos - 1)]++;
  }
}

uint64_t JobAccount::errors() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kDirections; i++) {
    sum += shorts_[i];
    for (const uint64_t count : errors_[i]) sum += count;
  }
  return sum;
}

// Cells, open and close lie at times at which nothing happens: they are passed here, one by one, by
// the first event at or after them.
void JobAccount::PassEdges(int64_t now_ns, uint32_t in_flight) {
  if (watch_ != nullptr) LookAtClock(now_ns);
  while (edge_ns_ <= now_ns) {
    const int64_t edge_ns = edge_ns_;
    if (part_ == kRamp && edge_ns == times_.open_ns) PassOpen(in_flight);
    cell_->in_flight = in_flight;
    if (edge_ns == CellEndNs()) cell_++;
    if (edge_ns == times_.close_ns) PassClose(in_flight);
    FindNextEdge();
  }
}

void JobAccount::PassOpen(uint32_t in_flight) {
  part_ = kWindow;
  FindTimedFrom();
  counts_at_open_ = counts_;
  sizes_now_ = sizes_in_window_.data();
  open_integral_ = DepthIntegral(times_.open_ns, in_flight);
  depth_max_ = in_flight;
  // What the ramp left in the gap does not count, nor what lies before a step of the clock.
  gap_max_ns_ = 0;
  gap_from_ns_ = std::max(times_.open_ns, possible_from_ns_);
}

void JobAccount::PassClose(uint32_t in_flight) {
  part_ = kDrain;
  FindTimedFrom();
  sizes_now_ = sizes_outside_.data();
  window_integral_ = DepthIntegral(times_.close_ns, in_flight) - open_integral_;
  in_flight_at_close_ = in_flight;
  // The I/O that would have ended this gap is still awaited: the gap is at least this long.
  if (times_.close_ns - gap_from_ns_ > gap_max_ns_) {
    NoteGap(times_.close_ns);
    gap_censored_ = true;
  }
  counts_at_close_ = counts_;
  // What is still counted from here on goes where nobody looks: EndBatch has no branch for it.
  cell_ = &series_.back();
  gap_max_in_window_ns_ = gap_max_ns_;
  gap_max_ns_ = std::numeric_limits<int64_t>::max();
}

void JobAccount::NoteUnfinished(Part before, const Stamps& stamps, int64_t due_ns) {
  const std::optional<int64_t> due = shape_.open_loop ? std::optional(due_ns) : std::nullopt;
  if (before == kRamp) unfinished_at_open_.Note(times_.open_ns, stamps, due);
  if (part_ == kDrain) unfinished_at_close_.Note(times_.close_ns, stamps, due);
}

void JobAccount::FindNextEdge() {
  edge_ns_ = std::numeric_limits<int64_t>::max();
  if (part_ == kDrain) return;
  edge_ns_ = std::min(CellEndNs(), times_.close_ns);
  if (part_ == kRamp) edge_ns_ = std::min(edge_ns_, times_.open_ns);
  edge_ns_ = std::min(edge_ns_, watch_at_ns_);
}

void JobAccount::FindTimedFrom() {
  timed_from_ns_ = part_ == kWindow ? possible_from_ns_ : std::numeric_limits<int64_t>::max();
}

void JobAccount::LookAtClock(int64_t now_ns) {
  watch_at_ns_ = now_ns + std::min(shape_.cell_ns, kWatchEveryNs);
  if (!watch_->HasStepped(now_ns)) return;
  clock_anomalies_++;
  possible_from_ns_ = now_ns;
  FindTimedFrom();
  gap_from_ns_ = now_ns;
}

void JobAccount::NoteAnomaly(int64_t now_ns) {
  clock_anomalies_++;
  if (watch_ == nullptr) return;
  watch_at_ns_ = now_ns;
  FindNextEdge();
}

void JobAccount::NoteGap(int64_t end_ns) {
  if (end_ns < gap_from_ns_) return NoteAnomaly(end_ns);
  gap_max_ns_ = end_ns - gap_from_ns_;
  gap_max_at_ns_ = gap_from_ns_;
}

void JobAccount::Finish(uint32_t outstanding, JobRecord* record) {
  if (part_ == kRamp) counts_at_open_ = counts_;
  if (!closed()) {  // the loop broke
    counts_at_close_ = counts_;
    gap_max_in_window_ns_ = gap_max_ns_;
  }
  const auto& names = shape_.trims ? kTrimNames : kDirectionNames;
  for (size_t i = 0; i < kDirections; i++) {
    if (directions_[i]) {
      DirectionRecord direction;
      direction.direction = names[i];
      direction.ios = directions_[i]->lat.count();
      direction.bytes = direction.ios * shape_.bs_bytes;
      direction.slat = std::move(directions_[i]->slat);
      direction.clat = std::move(directions_[i]->clat);
      direction.lat = std::move(directions_[i]->lat);
      direction.response = std::move(directions_[i]->response);
      record->directions.push_back(std::move(direction));
    }
    const std::string prefix = std::string(names[i]) + " ";
    for (size_t os_errno = 0; os_errno < kErrnos; os_errno++) {
      if (errors_[i][os_errno] == 0) continue;
      record->errors[prefix + ErrnoName(static_cast<int>(os_errno))] = errors_[i][os_errno];
    }
    if (shorts_[i] != 0) record->errors[prefix + "short"] = shorts_[i];
  }
  const int64_t length_ns = times_.close_ns - times_.barrier_ns;
  const auto cells = static_cast<size_t>((length_ns + shape_.cell_ns - 1) / shape_.cell_ns);
  series_.resize(std::min(series_.size(), cells));
  for (SeriesCell& cell : series_) cell.bytes = cell.ios * shape_.bs_bytes;
  record->series.assign(series_.begin(), series_.end());
  if (shape_.open_loop) record->open_loop = open_loop_;
  record->gap_max_ns = gap_max_in_window_ns_;
  record->gap_max_at_ns = gap_max_in_window_ns_ == 0 ? 0 : gap_max_at_ns_ - times_.barrier_ns;
  record->gap_censored = gap_censored_;
  record->ios_trimmed = counts_at_open_.ios;
  record->ios_drained = counts_.ios - counts_at_close_.ios;
  record->in_flight_at_close = in_flight_at_close_;
  record->unfinished_at_open = unfinished_at_open_.ToRecord(nullptr);
  record->unfinished_at_close = unfinished_at_close_.ToRecord(overdue_ ? &*overdue_ : nullptr);
  record->outstanding = outstanding;
  const int64_t window_ns = times_.close_ns - times_.open_ns;
  if (window_ns > 0) {
    record->depth_mean = static_cast<double>(window_integral_) / static_cast<double>(window_ns);
  }
  record->depth_max = depth_max_;
  record->submit_calls = counts_at_close_.submit_calls - counts_at_open_.submit_calls;
  record->reap_calls = counts_at_close_.reap_calls - counts_at_open_.reap_calls;
  if (shape_.batch_submit == 1) sizes_in_window_[1] = record->submit_calls;
  for (uint32_t ios = 1; ios <= shape_.batch_submit; ios++) {
    const uint64_t calls = sizes_in_window_[ios];
    if (calls > 0) record->submit_sizes.emplace_back(ios, calls);
  }
  record->clock_anomalies = clock_anomalies_;
}

void JobAccount::NoteHung(int64_t close_ns, uint32_t iodepth, JobRecord* record) const {
  close_ns = std::min(close_ns, times_.close_ns);
  const int64_t open_ns = std::min(times_.open_ns, close_ns);
  if (part_ == kDrain || open_ns == close_ns) return;  // it hung afterwards, or never began
  const bool in_ramp = part_ == kRamp;
  // It has passed no edge since: what is in flight has been so from its last completion on.
  const uint32_t in_flight = iodepth == 1 || in_ramp ? iodepth : depth_max_;
  const int64_t from_ns = in_ramp ? open_ns : std::max(gap_from_ns_, open_ns);
  record->gap_max_ns = std::max<int64_t>(0, close_ns - from_ns);
  record->gap_max_at_ns = from_ns - times_.barrier_ns;
  record->gap_censored = true;
  if (!in_ramp && gap_max_ns_ > record->gap_max_ns) {
    record->gap_max_ns = gap_max_ns_;
    record->gap_max_at_ns = gap_max_at_ns_ - times_.barrier_ns;
    record->gap_censored = false;
  }
  const uint64_t at_open = in_ramp ? DepthIntegral(open_ns, in_flight) : open_integral_;
  record->depth_mean = static_cast<double>(DepthIntegral(close_ns, in_flight) - at_open) /
                       static_cast<double>(close_ns - open_ns);
  // Of a batch that was on its way it may be less: then no integral says it.
  if (record->depth_mean > iodepth) record->depth_mean = in_flight;
  record->depth_max = std::max(in_flight, in_ramp ? 0 : depth_max_);
  record->in_flight_at_close = in_flight;
  record->ios_trimmed = in_ramp ? counts_.ios : counts_at_open_.ios;
}

}  // namespace blkfair
