#include "engines/sim_device.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/hash.h"

namespace blkfair {

namespace {

// Room for `total` more elements without another allocation.
template <typename T>
void ReserveMore(std::vector<T>* vector, size_t total) {
  if (vector->capacity() < total) vector->reserve(std::max(total, 2 * vector->capacity()));
}

}  // namespace

int64_t ServiceTimeNs(const SimQueueSpec& spec, uint64_t seed, uint64_t index) {
  const auto mean = static_cast<double>(spec.service_ns);
  if (spec.service_cv <= 0) return std::max<int64_t>(1, spec.service_ns);
  // Box and Muller: two uniform numbers make a normal one.
  const double u = UnitInterval(MixSeed(seed, 2 * index));
  const double v = UnitInterval(MixSeed(seed, 2 * index + 1));
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  // A lognormal of mean m and coefficient of variation c: sigma^2 = ln(1 + c^2), mu = ln m -
  // sigma^2 / 2.
  const double variance = std::log1p(spec.service_cv * spec.service_cv);
  const double ns = mean * std::exp(std::sqrt(variance) * normal - variance / 2);
  return std::max<int64_t>(1, std::llround(ns));
}

int64_t ServedAtNs(const SimQueueSpec& spec, int64_t now_ns, int64_t service_ns) {
  const int64_t stall_end_ns = spec.stall_at_ns + spec.stall_for_ns;
  const int64_t done_ns = now_ns + service_ns;
  if (now_ns >= stall_end_ns || done_ns <= spec.stall_at_ns) return done_ns;
  return done_ns + stall_end_ns - std::max(now_ns, spec.stall_at_ns);
}

SimPort::SimPort(SimWorld* world, SimQueue* queue, uint32_t depth, uint64_t seed, uint32_t owner)
    : world_(world), queue_(queue), depth_(depth), seed_(seed), owner_(owner), done_(depth) {}

void SimPort::Enqueue(const IoOp& op) {
  CHECK(in_flight_ < depth_);
  in_flight_++;
  world_->Arrive(this, op);
}

uint32_t SimPort::Collect(std::span<IoCompletion> out) {
  const size_t count = std::min(out.size(), done_count_);
  for (size_t i = 0; i < count; i++) {
    out[i] = done_[done_first_];
    if (++done_first_ == done_.size()) done_first_ = 0;
  }
  done_count_ -= count;
  in_flight_ -= static_cast<uint32_t>(count);
  return static_cast<uint32_t>(count);
}

void SimPort::Finish(IoCompletion completion) {
  done_[(done_first_ + done_count_) % done_.size()] = completion;
  done_count_++;
}

void SimQueue::PushWaiting(const Request& request) {
  waiting_[(waiting_first_ + waiting_count_) % waiting_.size()] = request;
  waiting_count_++;
}

SimQueue::Request SimQueue::PopWaiting() {
  const Request request = waiting_[waiting_first_];
  if (++waiting_first_ == waiting_.size()) waiting_first_ = 0;
  waiting_count_--;
  return request;
}

void SimQueue::GrowWaiting(size_t room) {
  room_ += room;
  if (room_ <= waiting_.size()) return;
  std::vector<Request> grown(std::max(room_, 2 * waiting_.size()));
  const size_t count = waiting_count_;
  for (size_t i = 0; i < count; i++) grown[i] = PopWaiting();
  waiting_ = std::move(grown);
  waiting_first_ = 0;
  waiting_count_ = count;
}

uint32_t SimTagSet::LimitPerQueue() const {
  if (!fair_ || active_users_ == 0 || tags_ == 1) return tags_;
  const uint32_t share = (tags_ + active_users_ - 1) / active_users_;
  return std::min(tags_, std::max(share, 4u));
}

SimQueue* SimWorld::AddQueue(const Queue& queue) {
  CHECK(queue.kind == QueueKind::kSim);
  CHECK(queue.sim.tags > 0);
  for (const auto& known : queues_) {
    if (known->queue_.Name() == queue.Name()) return known.get();
  }
  const std::string key = queue.sim.shared ? "set " + queue.sim.group : "own " + queue.Name();
  SimTagSet* set = nullptr;
  for (const auto& known : sets_) {
    if (known->key_ == key) set = known.get();
  }
  if (set == nullptr) {
    set = sets_.emplace_back(std::make_unique<SimTagSet>()).get();
    set->key_ = key;
    set->fair_ = queue.sim.policy == "fair";
    set->tags_ = queue.sim.tags;
  }
  SimQueue* made = queues_.emplace_back(std::make_unique<SimQueue>()).get();
  made->queue_ = queue;
  made->tags_ = set;
  set->queues_.push_back(made);
  // At most every tag's completion and every queue's idle check are scheduled at one time.
  size_t events = queues_.size();
  for (const auto& each : sets_) events += each->tags_;
  ReserveMore(&events_, events);
  return made;
}

const SimQueue* SimWorld::FindQueue(std::string_view name) const {
  for (const auto& queue : queues_) {
    if (queue->queue_.Name() == name) return queue.get();
  }
  return nullptr;
}

SimPort* SimWorld::AddPort(SimQueue* queue, uint32_t depth, uint64_t seed, uint32_t owner) {
  queue->GrowWaiting(depth);
  ports_.push_back(std::make_unique<SimPort>(this, queue, depth, seed, owner));
  ReserveMore(&news_, ports_.size());
  ReserveMore(&taken_news_, ports_.size());
  return ports_.back().get();
}

void SimWorld::AdvanceTo(int64_t ns) {
  CHECK(ns >= NowNs());
  while (NextEventNs() <= ns) {
    std::pop_heap(events_.begin(), events_.end(), Later);
    const Event event = events_.back();
    events_.pop_back();
    clock_.Set(event.at_ns);
    Happen(event);
  }
  clock_.Set(ns);
}

std::span<SimPort* const> SimWorld::TakePortsWithNews() {
  taken_news_.swap(news_);
  news_.clear();
  for (SimPort* port : taken_news_) port->signalled_ = false;
  return taken_news_;
}

void SimWorld::Arrive(SimPort* port, const IoOp& op) {
  SimQueue* queue = port->queue_;
  SimTagSet* set = queue->tags_;
  // The kernel marks a queue active at its first attempt to get a tag, even one that fails.
  if (!queue->active_) {
    queue->active_ = true;
    set->active_users_++;
  }
  const int64_t service_ns = ServiceTimeNs(queue->queue_.sim, port->seed_, port->requests_++);
  queue->PushWaiting({port, set->arrivals_++, service_ns, op.slot, op.length_bytes});
  Dispatch(set);
}

// Gives tags to waiting requests, in the order of their arrival among the queues that may have one.
void SimWorld::Dispatch(SimTagSet* set) {
  const uint32_t limit = set->LimitPerQueue();
  while (set->held_ < set->tags_) {
    SimQueue* next = nullptr;
    for (SimQueue* queue : set->queues_) {
      if (queue->waiting_count_ == 0 || queue->tags_held_ >= limit) continue;
      if (next == nullptr || queue->FirstWaiting().arrival < next->FirstWaiting().arrival) {
        next = queue;
      }
    }
    if (next == nullptr) return;
    Serve(next->PopWaiting(), next);
  }
}

void SimWorld::Serve(const SimQueue::Request& request, SimQueue* queue) {
  queue->tags_held_++;
  queue->tags_->held_++;
  Schedule({ServedAtNs(queue->queue_.sim, NowNs(), request.service_ns),
            0,
            queue,
            request.port,
            {request.slot, static_cast<int32_t>(request.length_bytes)}});
}

void SimWorld::Happen(const Event& event) {
  SimQueue* queue = event.queue;
  SimTagSet* set = queue->tags_;
  if (event.port == nullptr) {
    queue->idle_check_pending_ = false;
    if (queue->tags_held_ > 0 || queue->waiting_count_ > 0)
      return;  // its last completion looks again
    if (queue->last_activity_ns_ + idle_ns_ > NowNs()) return ScheduleIdleCheck(queue);
    queue->active_ = false;
    set->active_users_--;
    return Dispatch(set);
  }
  queue->tags_held_--;
  set->held_--;
  queue->last_activity_ns_ = NowNs();
  event.port->Finish(event.completion);
  if (!event.port->signalled_) {
    event.port->signalled_ = true;
    news_.push_back(event.port);
  }
  if (queue->tags_held_ == 0 && queue->waiting_count_ == 0 && !queue->idle_check_pending_) {
    ScheduleIdleCheck(queue);
  }
  Dispatch(set);
}

void SimWorld::ScheduleIdleCheck(SimQueue* queue) {
  queue->idle_check_pending_ = true;
  Schedule({queue->last_activity_ns_ + idle_ns_, 0, queue, nullptr, {}});
}

void SimWorld::Schedule(Event event) {
  event.order = order_++;
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end(), Later);
}

}  // namespace blkfair
