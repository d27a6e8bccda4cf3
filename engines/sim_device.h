// A block device in virtual time: queues that share sets of tags. A request waits, first come first
// served, until its queue may take a tag, is then served for a time drawn from its queue's service
// law, beside all others that hold tags, and gives its tag back. Nothing here reads a clock: the
// owner of the world (the sim executor, or a test) moves time. One thread uses a world.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/queue.h"
#include "engines/engine.h"

namespace blkfair {

class SimQueue;
class SimTagSet;
class SimWorld;

// One job's end of a queue: where it enqueues, and where its completions gather. At most `depth`
// requests of a port are in flight.
class SimPort {
 public:
  SimPort(SimWorld* world, SimQueue* queue, uint32_t depth, uint64_t seed, uint32_t owner);

  // How many more requests fit.
  uint32_t room() const { return depth_ - in_flight_; }
  void Enqueue(const IoOp& op);
  // Takes up to out.size() finished requests, oldest first.
  uint32_t Collect(std::span<IoCompletion> out);

  uint32_t ready() const { return static_cast<uint32_t>(done_count_); }
  uint32_t owner() const { return owner_; }

 private:
  friend class SimWorld;
  void Finish(IoCompletion completion);

  SimWorld* world_;
  SimQueue* queue_;
  uint32_t depth_;
  uint64_t seed_;          // of its service times
  uint64_t requests_ = 0;  // enqueued so far
  uint32_t owner_;
  uint32_t in_flight_ = 0;          // enqueued and not collected
  std::vector<IoCompletion> done_;  // ring
  size_t done_first_ = 0;
  size_t done_count_ = 0;
  bool signalled_ = false;  // stands in the world's list of ports with news
};

// One simulated request queue.
class SimQueue {
 public:
  const Queue& queue() const { return queue_; }
  const SimTagSet& tags() const { return *tags_; }
  uint32_t tags_held() const { return tags_held_; }
  uint32_t waiters() const { return static_cast<uint32_t>(waiting_count_); }
  bool active() const { return active_; }

 private:
  friend class SimWorld;
  friend class SimPort;

  struct Request {
    SimPort* port;
    uint64_t arrival;    // rank in the set's first-come order
    int64_t service_ns;  // drawn when it was enqueued
    uint32_t slot;
    uint32_t length_bytes;
  };

  void PushWaiting(const Request& request);
  const Request& FirstWaiting() const { return waiting_[waiting_first_]; }
  Request PopWaiting();
  void GrowWaiting(size_t room);

  Queue queue_;
  SimTagSet* tags_ = nullptr;
  uint32_t tags_held_ = 0;
  bool active_ = false;
  bool idle_check_pending_ = false;
  int64_t last_activity_ns_ = 0;
  size_t room_ = 0;               // what all its ports together may have waiting
  std::vector<Request> waiting_;  // ring, at least of that size
  size_t waiting_first_ = 0;
  size_t waiting_count_ = 0;
};

// The tags that some queues share (or that one has to itself).
class SimTagSet {
 public:
  uint32_t tags() const { return tags_; }
  uint32_t held() const { return held_; }
  // Queues that the set is divided among now (the kernel's active_queues).
  uint32_t active_users() const { return active_users_; }
  // Most tags that one queue may hold now. "fair" is the rule of hctx_may_queue
  // (block/blk-mq.h, 6.1 to 7.3): max(ceil(tags / active users), 4), and no limit on a set of one
  // tag.
  uint32_t LimitPerQueue() const;

 private:
  friend class SimWorld;

  std::string key_;
  bool fair_ = true;
  uint32_t tags_ = 0;
  uint32_t held_ = 0;
  uint32_t active_users_ = 0;
  uint64_t arrivals_ = 0;
  std::vector<SimQueue*> queues_;
};

class SimWorld {
 public:
  // A queue counts as a user of its set from its first attempt to get a tag until it has had
  // nothing to do for this long: blk_mq_timeout_work clears it, and the request timer runs every
  // 5 s at the latest (block/blk-timeout.c, 6.1 to 7.3).
  static constexpr int64_t kIdleNs = 5'000'000'000;

  explicit SimWorld(int64_t idle_ns = kIdleNs) : idle_ns_(idle_ns) {}
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  // The simulated queue of this name, made at its first mention. queue.kind is kSim.
  SimQueue* AddQueue(const Queue& queue);
  // Null when the world has no queue of that name.
  const SimQueue* FindQueue(std::string_view name) const;

  // `owner` comes back from TakePortsWithNews. The port lives as long as the world.
  SimPort* AddPort(SimQueue* queue, uint32_t depth, uint64_t seed, uint32_t owner);

  const ManualClock& clock() const { return clock_; }
  int64_t NowNs() const { return clock_.NowNs(); }
  // When something happens next by itself; INT64_MAX: never.
  int64_t NextEventNs() const { return events_.empty() ? INT64_MAX : events_.front().at_ns; }
  // Moves time to `ns` and lets everything up to and including it happen.
  void AdvanceTo(int64_t ns);
  // Ports with a completion since they were last taken, in the order of their first one. Valid
  // until the next call.
  std::span<SimPort* const> TakePortsWithNews();

 private:
  friend class SimPort;

  struct Event {
    int64_t at_ns;
    uint64_t order;  // ties happen in the order in which they were scheduled
    SimQueue* queue;
    SimPort* port;  // null: look whether `queue` has gone idle
    IoCompletion completion;
  };
  static bool Later(const Event& a, const Event& b) {
    return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.order > b.order;
  }

  void Arrive(SimPort* port, const IoOp& op);
  void Serve(const SimQueue::Request& request, SimQueue* queue);
  void Dispatch(SimTagSet* set);
  void Happen(const Event& event);
  void ScheduleIdleCheck(SimQueue* queue);
  void Schedule(Event event);

  ManualClock clock_;
  int64_t idle_ns_;
  uint64_t order_ = 0;
  std::vector<Event> events_;  // heap, earliest first
  std::vector<std::unique_ptr<SimTagSet>> sets_;
  std::vector<std::unique_ptr<SimQueue>> queues_;
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::vector<SimPort*> news_;
  std::vector<SimPort*> taken_news_;
};

// The service time of a port's request number `index`: constant, or lognormal with this mean and
// coefficient of variation. A pure function, at least 1 ns.
int64_t ServiceTimeNs(const SimQueueSpec& spec, uint64_t seed, uint64_t index);
// When a request is done that is served from `now_ns` on: later where the device stalls meanwhile.
int64_t ServedAtNs(const SimQueueSpec& spec, int64_t now_ns, int64_t service_ns);

}  // namespace blkfair
