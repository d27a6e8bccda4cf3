#include "harness/run/arrivals.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace blkfair {

Arrivals::Arrivals(const JobSpec& spec, uint32_t clone, uint64_t seed)
    : interval_ns_(spec.rate_iops > 0 ? 1e9 / spec.rate_iops : 0),
      poisson_(spec.rate_process == RateProcess::kPoisson),
      // Other numbers than those that choose the blocks.
      seed_(MixSeed(seed, HashOf("arrivals"))),
      first_ns_(interval_ns_ * clone / std::max(spec.numjobs, 1u)) {}

void Arrivals::Start(int64_t at_ns) {
  start_ns_ = at_ns;
  index_ = 0;
  offset_ns_ = 0;
  FindNext();
}

void Arrivals::Advance() {
  index_++;
  FindNext();
}

void Arrivals::FindNext() {
  if (poisson_) {
    offset_ns_ -= interval_ns_ * std::log(UnitInterval(MixSeed(seed_, index_)));
  } else {
    offset_ns_ = first_ns_ + static_cast<double>(index_) * interval_ns_;
  }
  next_ns_ = start_ns_ + std::llround(offset_ns_);
}

}  // namespace blkfair
