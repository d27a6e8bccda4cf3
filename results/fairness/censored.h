// Censored: what the I/Os that a window's close cut off say about its latencies. Of each only its
// age is known, and its latency is longer. In a steady state as many I/Os of any age were going on
// when the window opened, and their whole latencies were counted in it; so only those count that
// the close had more of than the open. A figure that they would have made larger, by more than its
// own noise, is "at least" what they make it. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/latency.h"
#include "results/fairness/metric.h"

namespace blkfair {

class Censored {
 public:
  // Of one class of latency of a subject; none of kSlat.
  Censored(LatencyClass latency, const Subject& subject);

  struct AtLeast {
    double ns = 0;
    uint64_t ios = 0;  // that had not completed and were older than the figure of those that had
  };
  // Empty where the figure of what completed stands. `ns`: that figure.
  std::optional<AtLeast> Percentile(const LatencyStats& completed, double p, int64_t ns) const;
  std::optional<AtLeast> Mean(const LatencyStats& completed) const;
  std::optional<AtLeast> Max(const LatencyStats& completed) const;

 private:
  // I/Os older than `ns`: how many more there were at the close than at the open.
  uint64_t Excess(int64_t ns) const;

  Ages at_open_;  // of all jobs of the subject, ascending; the same age may stand several times
  Ages at_close_;
};

}  // namespace blkfair
