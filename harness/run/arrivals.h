// Arrivals: when the I/Os of an open-loop job are due, whether earlier ones have completed or not.
// A pure function of (rate, process, seed, index), walked through in order. One cursor belongs to
// one thread.
#pragma once

#include <cstdint>

#include "scenarios/language/model.h"

namespace blkfair {

class Arrivals {
 public:
  // Of a job without a rate.
  Arrivals() = default;
  // `seed` is the clone's own. Fixed arrivals of a job's clones lie evenly between each other.
  Arrivals(const JobSpec& spec, uint32_t clone, uint64_t seed);

  bool open_loop() const { return interval_ns_ > 0; }
  // Mean time between two of them.
  int64_t interval_ns() const { return static_cast<int64_t>(interval_ns_); }

  // The first one is then the next.
  void Start(int64_t at_ns);
  uint64_t index() const { return index_; }
  int64_t next_ns() const { return next_ns_; }
  void Advance();

 private:
  void FindNext();

  double interval_ns_ = 0;
  bool poisson_ = false;
  uint64_t seed_ = 0;
  int64_t start_ns_ = 0;
  uint64_t index_ = 0;
  double offset_ns_ = 0;  // of the next one, from the start
  double first_ns_ = 0;   // fixed: the first one's offset
  int64_t next_ns_ = 0;
};

}  // namespace blkfair
