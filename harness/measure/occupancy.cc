#include "harness/measure/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace blkfair {

namespace {

// A queue sits at its limit from here on: tags are freed and woken for in batches, so the count
// dips below the limit between two wake-ups.
constexpr double kAtLimit = 0.9;

std::optional<uint32_t> Held(const TagReading& reading, bool busy) {
  return busy ? reading.busy : reading.active;
}

struct Mean {
  double sum = 0;
  uint32_t n = 0;
  void Add(std::optional<uint32_t> value) {
    if (!value) return;
    sum += *value;
    n++;
  }
  std::optional<double> Get() const {
    return n == 0 ? std::nullopt : std::optional<double>(sum / n);
  }
};

bool InSet(const MeteredQueue& queue, const MeteredSet& set) {
  return queue.fixture == set.fixture;
}

}  // namespace

uint32_t FairShareLimit(uint32_t usable_tags, uint32_t users) {
  if (users <= 1) return usable_tags;
  return std::min(usable_tags, std::max((usable_tags + users - 1) / users, 4U));
}

OccupancyMeter::OccupancyMeter(std::vector<MeteredQueue> queues, std::vector<MeteredSet> sets,
                               OccupancySource* source, uint32_t samples_max)
    : queues_(std::move(queues)),
      sets_(std::move(sets)),
      source_(source),
      samples_max_(samples_max) {
  at_ns_.reserve(samples_max_);
  readings_.resize(samples_max_ * queues_.size());
}

void OccupancyMeter::Sample(int64_t at_ns) {
  if (at_ns_.size() == samples_max_) return;
  source_->Read(std::span(readings_).subspan(at_ns_.size() * queues_.size(), queues_.size()));
  at_ns_.push_back(at_ns);
}

OccupancyMeter::Choice OccupancyMeter::ChooseSource(const MeteredSet& set,
                                                    std::span<const size_t> samples) const {
  Mean active;
  Mean busy;
  for (const size_t s : samples) {
    for (size_t q = 0; q < queues_.size(); q++) {
      if (!InSet(queues_[q], set)) continue;
      active.Add(At(s, q).active);
      busy.Add(At(s, q).busy);
    }
  }
  if (!active.Get() && !busy.Get()) return {};
  if (!busy.Get()) return {.busy = false, .any = true, .why = "no other source is readable"};
  if (!active.Get()) return {.busy = true, .any = true, .why = "no other source is readable"};
  const double a = *active.Get();
  const double b = *busy.Get();
  if (!set.shared) {
    return {.busy = true, .any = true, .why = "`active` is not kept on a set of one queue"};
  }
  if (std::abs(a - b) <= std::max(0.25, 0.1 * std::max(a, b))) {
    return {.busy = false,
            .any = true,
            .why = fmt::format("`active` {:.1f} and `busy` {:.1f} tags a queue: they agree, within "
                               "10 % or a quarter of a tag",
                               a, b)};
  }
  return {.busy = true,
          .any = true,
          .why = fmt::format(
              "`active` disagrees ({:.1f} against {:.1f} tags a queue): the kernel under "
              "test counts it differently",
              a, b)};
}

uint32_t OccupancyMeter::LimitAt(const MeteredSet& set, size_t sample, size_t queue) const {
  if (!set.shared) return set.usable_tags;
  uint32_t users = 0;
  for (const MeteredQueue& other : queues_) users += InSet(other, set) && other.demand > 0 ? 1 : 0;
  users = std::max(users, At(sample, queue).active_queues.value_or(0));
  return FairShareLimit(set.usable_tags, users);
}

bool OccupancyMeter::ContendedAt(const MeteredSet& set, size_t sample, const Choice& choice) const {
  uint32_t set_contenders = 0;
  for (const MeteredQueue& queue : queues_) {
    if (InSet(queue, set)) set_contenders += queue.contenders;
  }
  for (size_t q = 0; q < queues_.size(); q++) {
    const MeteredQueue& queue = queues_[q];
    if (!InSet(queue, set)) continue;
    const uint32_t contenders = set.shared ? set_contenders : queue.contenders;
    if (contenders < 2) continue;
    const TagReading& reading = At(sample, q);
    if (reading.waiters.value_or(0) > 0) return true;
    const uint32_t limit = LimitAt(set, sample, q);
    const auto held = Held(reading, choice.busy);
    if (queue.demand > limit && held && *held >= kAtLimit * limit) return true;
  }
  return false;
}

OccupancyRecord OccupancyMeter::FinishQueue(const MeteredSet& set, size_t queue,
                                            const Choice& choice,
                                            std::span<const size_t> samples) const {
  OccupancyRecord record;
  record.source = !choice.any ? "none" : choice.busy ? "busy" : "active";
  record.why = choice.why;
  Mean held;
  Mean active;
  Mean busy;
  Mean waiters;
  std::vector<uint32_t> sorted;
  uint32_t at_limit = 0;
  for (const size_t s : samples) {
    const TagReading& reading = At(s, queue);
    active.Add(reading.active);
    busy.Add(reading.busy);
    waiters.Add(reading.waiters);
    const auto tags = Held(reading, choice.busy);
    if (!tags) continue;
    held.Add(tags);
    sorted.push_back(*tags);
    if (*tags >= kAtLimit * LimitAt(set, s, queue)) at_limit++;
  }
  record.samples = held.n;
  record.mean = held.Get();
  record.active_mean = active.Get();
  record.busy_mean = busy.Get();
  record.waiters_mean = waiters.Get();
  if (!sorted.empty()) {
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    record.max = sorted.back();
    record.p95 =
        sorted[std::min(n - 1, static_cast<size_t>(std::ceil(0.95 * static_cast<double>(n))) - 1)];
    record.at_limit_fraction = static_cast<double>(at_limit) / static_cast<double>(n);
  }
  return record;
}

TagSetPhaseRecord OccupancyMeter::FinishSet(const MeteredSet& set, std::span<const size_t> samples,
                                            std::vector<QueueRecord>* queue_records) const {
  const Choice choice = ChooseSource(set, samples);
  TagSetPhaseRecord record;
  record.fixture = set.fixture;
  record.usable_tags = set.usable_tags;
  record.samples = static_cast<uint32_t>(samples.size());
  Mean active_queues;
  for (size_t q = 0; q < queues_.size(); q++) {
    if (!InSet(queues_[q], set)) continue;
    record.demand += queues_[q].demand;
    for (QueueRecord& queue_record : *queue_records) {
      if (queue_record.queue != queues_[q].name) continue;
      queue_record.occupancy = FinishQueue(set, q, choice, samples);
    }
  }
  for (const size_t s : samples) {
    if (ContendedAt(set, s, choice)) record.samples_contended++;
    for (size_t q = 0; q < queues_.size(); q++) {
      if (!InSet(queues_[q], set)) continue;
      active_queues.Add(At(s, q).active_queues);
      if (At(s, q).wake_batch) record.wake_batch = At(s, q).wake_batch;
    }
  }
  record.active_queues_mean = active_queues.Get();
  return record;
}

void OccupancyMeter::Finish(int64_t open_ns, int64_t close_ns,
                            std::vector<QueueRecord>* queue_records,
                            std::vector<TagSetPhaseRecord>* set_records) const {
  CHECK(queue_records != nullptr);
  CHECK(set_records != nullptr);
  std::vector<size_t> in_window;
  for (size_t s = 0; s < at_ns_.size(); s++) {
    if (at_ns_[s] >= open_ns && at_ns_[s] < close_ns) in_window.push_back(s);
  }
  for (const MeteredSet& set : sets_) {
    set_records->push_back(FinishSet(set, in_window, queue_records));
  }
}

}  // namespace blkfair
