// Workload: which I/O a job does. A pure function of (seed, job, index): no state, no clock, the
// same on every machine. Cheap enough for the hot loop: no division, no modulo, no memory.
#pragma once

#include <cstdint>

#include "base/queue.h"
#include "base/result.h"
#include "engines/engine.h"
#include "scenarios/language/model.h"

namespace blkfair {

class Workload {
 public:
  struct Access {
    uint64_t offset_bytes;
    Direction direction;
  };

  // `seed` is the clone's own. kUsage when the job's region does not fit the queue, or is not cut
  // into logical blocks under direct I/O.
  static Result<Workload> Make(const JobSpec& spec, uint32_t clone, const Queue& queue,
                               uint64_t seed);

  // The index-th I/O. Random: a block of bs bytes drawn evenly from the region [offset, offset +
  // size). Sequential: the next block, starting over at the region's end; clone i of n starts at
  // i/n of the region, so that clones do not read the same blocks in step.
  Access At(uint64_t index) const {
    const uint64_t hash = Hash(seed_ + index * kStride);
    const uint64_t block = random_ ? HighProduct(hash, blocks_) : Wrap(first_block_ + index);
    // The high bits chose the block; the low ones, independent of them, choose the direction.
    const bool read = (hash & 0xffffffff) < read_below_;
    return {offset_bytes_ + block * bs_bytes_, read ? Direction::kRead : Direction::kWrite};
  }

  uint64_t blocks() const { return blocks_; }

 private:
  // wyrand (Wang Yi, public domain), as a function of its counter: one wide multiplication.
  static constexpr uint64_t kStride = 0xa0761d6478bd642f;
  static uint64_t Hash(uint64_t counter) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(counter) * (counter ^ 0xe7037ed1a0b428db);
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }
  static uint64_t HighProduct(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
  }
  // position mod blocks_: the quotient by multiplication with 2^64 / blocks_ is exact or one less.
  uint64_t Wrap(uint64_t position) const {
    const uint64_t rest = position - HighProduct(position, reciprocal_) * blocks_;
    return rest >= blocks_ ? rest - blocks_ : rest;
  }

  uint64_t seed_ = 0;
  uint64_t blocks_ = 1;
  uint64_t reciprocal_ = 0;
  uint64_t first_block_ = 0;
  uint64_t offset_bytes_ = 0;
  uint64_t bs_bytes_ = 0;
  uint64_t read_below_ = 0;  // of 2^32
  bool random_ = true;
};

}  // namespace blkfair
