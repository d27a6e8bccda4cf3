// Witness: follows every I/O of a job loop from its making to its return, and notes each breach of
// the rules of measurement. WitnessObserver is the handle that a JobLoop takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/stamps.h"
#include "engines/engine.h"

namespace blkfair {

class Witness {
 public:
  Witness(uint32_t iodepth, IssuePoint point) : point_(point), slots_(iodepth) {}

  void Made(const IoOp& op, int64_t start_ns) {
    Slot& slot = slots_[op.slot];
    made_twice += slot.state != State::kFree;
    slot = {State::kMade, start_ns, 0};
    made++;
    in_flight_++;
    depth_max = std::max(depth_max, in_flight_);
  }
  void Submitted(size_t offered, int taken) {
    partial_submits += taken < static_cast<int>(offered);
  }
  void Issued(uint32_t index, int64_t issue_ns) {
    Slot& slot = slots_[index];
    issued_out_of_turn += slot.state != State::kMade;
    slot.state = State::kIssued;
    slot.issue_ns = issue_ns;
    issued++;
  }
  void Completed(const IoCompletion& completion, const Stamps& stamps, int64_t completion_ns) {
    Slot& slot = slots_[completion.slot];
    completed_out_of_turn += slot.state != State::kIssued;
    slot.state = State::kFree;
    stamps_changed += stamps.start_ns != slot.start_ns || stamps.issue_ns != slot.issue_ns;
    const Latencies latencies = LatenciesOf(stamps, completion_ns);
    negative += latencies.slat_ns < 0 || latencies.clat_ns < 0 || latencies.lat_ns < 0;
    unequal += HasSlat(point_) && latencies.slat_ns + latencies.clat_ns != latencies.lat_ns;
    completed++;
    in_flight_--;
  }

  uint64_t made = 0;
  uint64_t issued = 0;
  uint64_t completed = 0;
  uint64_t partial_submits = 0;
  uint32_t depth_max = 0;
  // Breaches.
  uint64_t made_twice = 0;
  uint64_t issued_out_of_turn = 0;
  uint64_t completed_out_of_turn = 0;
  uint64_t stamps_changed = 0;
  uint64_t negative = 0;
  uint64_t unequal = 0;

 private:
  enum class State : uint8_t { kFree, kMade, kIssued };
  struct Slot {
    State state = State::kFree;
    int64_t start_ns = 0;
    int64_t issue_ns = 0;
  };

  IssuePoint point_;
  std::vector<Slot> slots_;
  uint32_t in_flight_ = 0;
};

struct WitnessObserver {
  Witness* witness;
  void Made(const IoOp& op, int64_t start_ns) { witness->Made(op, start_ns); }
  void Submitted(size_t offered, int taken) { witness->Submitted(offered, taken); }
  void Issued(uint32_t slot, int64_t issue_ns) { witness->Issued(slot, issue_ns); }
  void Completed(const IoCompletion& completion, const Stamps& stamps, int64_t completion_ns) {
    witness->Completed(completion, stamps, completion_ns);
  }
};

}  // namespace blkfair
