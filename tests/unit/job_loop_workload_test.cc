// The workload generator: what a job reads and writes, as a function of seed and index.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "harness/run/workload.h"

namespace blkfair {
namespace {

Queue QueueOf(uint64_t size_bytes) {
  Queue queue;
  queue.fixture = "pair";
  queue.size_bytes = size_bytes;
  return queue;
}

// The fields of a JobSpec that the generator reads.
struct Io {
  Rw rw = Rw::kRandRead;
  uint32_t rwmixread_percent = 50;
  uint64_t bs_bytes = 4096;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  uint32_t numjobs = 1;
  bool direct = true;
};

JobSpec SpecOf(const Io& io) {
  JobSpec spec;
  spec.name = "j";
  spec.rw = io.rw;
  spec.rwmixread_percent = io.rwmixread_percent;
  spec.bs_bytes = io.bs_bytes;
  spec.offset_bytes = io.offset_bytes;
  spec.size_bytes = io.size_bytes;
  spec.numjobs = io.numjobs;
  spec.direct = io.direct;
  return spec;
}

Workload MustMake(const Io& io, uint64_t size_bytes, uint64_t seed = 1, uint32_t clone = 0) {
  auto workload = Workload::Make(SpecOf(io), clone, QueueOf(size_bytes), seed);
  EXPECT_TRUE(workload) << workload.error().message;
  return *workload;
}

TEST(Workload, RandomOffsetsAreWholeBlocksInsideTheRegion) {
  const Io spec{.bs_bytes = 3 * 512, .offset_bytes = 512, .size_bytes = 100'000};
  const Workload workload = MustMake(spec, 1 << 20);
  EXPECT_EQ(workload.blocks(), 65u);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 10'000; i++) {
    const uint64_t offset = workload.At(i).offset_bytes;
    ASSERT_GE(offset, 512u);
    ASSERT_LE(offset + spec.bs_bytes, 512u + 100'000);
    ASSERT_EQ((offset - 512) % spec.bs_bytes, 0u);
    seen.insert(offset);
  }
  EXPECT_EQ(seen.size(), 65u);
}

TEST(Workload, RandomBlocksAreEven) {
  const Workload workload = MustMake({.bs_bytes = 4096}, 4096 * 100);
  std::vector<int> hits(100);
  constexpr int kDraws = 100'000;
  for (uint64_t i = 0; i < kDraws; i++) hits[workload.At(i).offset_bytes / 4096]++;
  double chi_square = 0;
  for (const int hit : hits) chi_square += std::pow(hit - kDraws / 100, 2) / (kDraws / 100.0);
  // 99 degrees of freedom: mean 99, standard deviation 14; the draws are fixed by the seed.
  EXPECT_GT(chi_square, 50);
  EXPECT_LT(chi_square, 160);
}

TEST(Workload, IsAFunctionOfSeedAndIndex) {
  const Workload one = MustMake({}, 1 << 30, 1);
  const Workload same = MustMake({}, 1 << 30, 1);
  const Workload other = MustMake({}, 1 << 30, 2);
  int equal = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    EXPECT_EQ(one.At(999 - i).offset_bytes, same.At(999 - i).offset_bytes);
    equal += one.At(i).offset_bytes == other.At(i).offset_bytes;
  }
  EXPECT_LT(equal, 5);
}

TEST(Workload, SequentialGoesRoundTheRegion) {
  for (const uint64_t blocks : {1u, 2u, 3u, 64u, 100u, 1000u}) {
    const Workload workload = MustMake({.rw = Rw::kRead, .bs_bytes = 512}, blocks * 512);
    for (uint64_t i = 0; i < 3 * blocks + 5; i++) {
      ASSERT_EQ(workload.At(i).offset_bytes, i % blocks * 512) << blocks << " " << i;
    }
  }
}

TEST(Workload, SequentialClonesStartApart) {
  const Io spec{.rw = Rw::kRead, .bs_bytes = 512, .numjobs = 3};
  for (uint32_t clone = 0; clone < 3; clone++) {
    const uint64_t first = MustMake(spec, 512 * 100, 1, clone).At(0).offset_bytes / 512;
    EXPECT_EQ(first, clone * 100 / 3);
  }
}

TEST(Workload, MixesReadsAndWritesByThePercentage) {
  for (const uint32_t percent : {0u, 1u, 30u, 99u, 100u}) {
    const Workload workload = MustMake({.rw = Rw::kRandRw, .rwmixread_percent = percent}, 1 << 20);
    int reads = 0;
    for (uint64_t i = 0; i < 100'000; i++) reads += workload.At(i).direction == Direction::kRead;
    EXPECT_NEAR(reads, percent * 1000.0, percent % 100 == 0 ? 0 : 600) << percent;
  }
}

TEST(Workload, OneDirectionNeverStrays) {
  const Workload reads = MustMake({.rw = Rw::kRandRead}, 1 << 20);
  const Workload writes = MustMake({.rw = Rw::kWrite}, 1 << 20);
  for (uint64_t i = 0; i < 10'000; i++) {
    ASSERT_EQ(reads.At(i).direction, Direction::kRead);
    ASSERT_EQ(writes.At(i).direction, Direction::kWrite);
  }
}

TEST(Workload, RefusesWhatCannotBeDone) {
  struct Case {
    Io spec;
    uint64_t queue_bytes;
    const char* says;
  };
  const Case cases[] = {
      {{.bs_bytes = 4096}, 0, "has no size of its own"},
      {{.bs_bytes = 4096, .offset_bytes = 8192}, 4096, "lies beyond"},
      {{.bs_bytes = 4096, .offset_bytes = 4096, .size_bytes = 8192}, 8192, "lies beyond"},
      {{.bs_bytes = 8192}, 4096, "smaller than bs"},
      {{.bs_bytes = 1000}, 1 << 20, "not a multiple of the 512 B logical block"},
      {{.bs_bytes = 512, .offset_bytes = 100}, 1 << 20, "not a multiple"},
      {{.bs_bytes = uint64_t{2} << 30}, uint64_t{1} << 40, "not in 1 B to 1 GiB"},
  };
  for (const Case& each : cases) {
    const auto workload = Workload::Make(SpecOf(each.spec), 0, QueueOf(each.queue_bytes), 1);
    ASSERT_FALSE(workload) << each.says;
    EXPECT_EQ(workload.error().kind, ErrorKind::kUsage);
    EXPECT_NE(workload.error().message.find(each.says), std::string::npos)
        << workload.error().message;
  }
  EXPECT_TRUE(Workload::Make(SpecOf({.bs_bytes = 1000, .direct = false}), 0, QueueOf(1 << 20), 1));
}

TEST(Workload, B32DirectIoThatIsNotAlignedNamesOptionValueAndBlock) {
  struct Case {
    Io spec;
    uint32_t block_bytes;
    const char* says;  // null: fine
  };
  const Case cases[] = {
      {{.bs_bytes = 512},
       4096,
       "bs = 512 B is not a multiple of the 4096 B logical block of pair:0"},
      {{.bs_bytes = 1000},
       512,
       "bs = 1000 B is not a multiple of the 512 B logical block of pair:0"},
      {{.bs_bytes = 4096, .offset_bytes = 512},
       4096,
       "offset = 512 B is not a multiple of the 4096 B logical block of pair:0"},
      // A power-of-two mask of 528 - 1 would take the first and refuse the second.
      {{.bs_bytes = 1024},
       528,
       "bs = 1024 B is not a multiple of the 528 B logical block of pair:0"},
      {{.bs_bytes = 1056, .offset_bytes = 528}, 528, nullptr},
      {{.bs_bytes = 512, .direct = false}, 4096, nullptr},
  };
  for (const Case& each : cases) {
    Queue queue = QueueOf(1 << 20);
    queue.logical_block_bytes = each.block_bytes;
    const auto workload = Workload::Make(SpecOf(each.spec), 0, queue, 1);
    ASSERT_EQ(workload.has_value(), each.says == nullptr);
    if (each.says == nullptr) continue;
    EXPECT_EQ(workload.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(workload.error().message,
              std::string("job j: ") + each.says + ", as direct I/O needs");
  }
}

}  // namespace
}  // namespace blkfair
