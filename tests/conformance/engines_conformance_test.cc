// What every engine owes the job loop, whatever it does inside. One suite over the engine table: a
// new engine is in it by being in the table. An engine that cannot run here is skipped, with the
// reason that its probe gives.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <vector>

#include "base/clock.h"
#include "tests/conformance/engine_bench.h"

namespace blkfair {
namespace {

class EngineConformance : public ::testing::TestWithParam<EngineCase> {
 protected:
  void SetUp() override {
    if (const auto usable = GetParam().info->probe(); !usable) {
      GTEST_SKIP() << usable.error().message;
    }
    // What depends on the target too is found out by opening it.
    const auto opened = EngineBench(GetParam()).Open({});
    if (!opened && opened.error().kind == ErrorKind::kUnmet) {
      GTEST_SKIP() << opened.error().message;
    }
    bench_ = std::make_unique<EngineBench>(GetParam());
  }

  void Open(const EngineBench::Options& options = {}) {
    const auto opened = bench_->Open(options);
    ASSERT_TRUE(opened) << opened.error().message;
  }
  IssuePoint IssuePointOfRow() const { return GetParam().info->issue(GetParam().params).point; }
  Witness MakeWitness() const { return {bench_->iodepth(), IssuePointOfRow()}; }

  std::unique_ptr<EngineBench> bench_;
};

// Engines that move data; that wait by themselves (in virtual time the executor does); that hold
// several requests at a time.
class FileEngineConformance : public EngineConformance {};
class WaitingEngineConformance : public EngineConformance {};
class AsynchronousEngineConformance : public EngineConformance {};

void ExpectNoBreach(const Witness& witness) {
  EXPECT_EQ(witness.made_twice, 0u);
  EXPECT_EQ(witness.issued_out_of_turn, 0u);
  EXPECT_EQ(witness.completed_out_of_turn, 0u);
  EXPECT_EQ(witness.stamps_changed, 0u);
  EXPECT_EQ(witness.negative, 0u);
  EXPECT_EQ(witness.unequal, 0u);
}

TEST_P(EngineConformance, EveryIoIsStampedOnceAndComesBackOnce) {
  Open();
  Witness witness = MakeWitness();
  const JobRecord record = bench_->Run(bench_->engine(), &witness);
  ExpectNoBreach(witness);
  EXPECT_GT(witness.completed, 100u);
  EXPECT_EQ(witness.issued, witness.made);
  EXPECT_EQ(witness.completed, witness.made);
  EXPECT_EQ(record.outstanding, 0u);
  EXPECT_EQ(record.clock_anomalies, 0u);
  EXPECT_TRUE(record.errors.empty());
  EXPECT_EQ(record.ios_trimmed + record.directions.front().ios + record.ios_drained,
            witness.completed);
}

TEST_P(EngineConformance, B03LatenciesAddUpWhereSlatIsMeasuredAndItIsAbsentElsewhere) {
  Open({.iodepth = 32, .batch_submit = 8, .batch_complete = 8});
  Witness witness = MakeWitness();
  const JobRecord record = bench_->Run(bench_->engine(), &witness);
  const DirectionRecord& reads = record.directions.front();
  EXPECT_EQ(reads.slat.has_value(), HasSlat(IssuePointOfRow()));
  EXPECT_EQ(reads.lat.count(), reads.ios);
  EXPECT_EQ(reads.clat.count(), reads.ios);
  EXPECT_EQ(reads.lat.histogram().total(), reads.ios);
  if (reads.slat) {
    EXPECT_EQ(reads.slat->count(), reads.ios);
    EXPECT_EQ(reads.slat->sum_ns() + reads.clat.sum_ns(), reads.lat.sum_ns());
  } else {
    EXPECT_GE(reads.lat.sum_ns(), reads.clat.sum_ns());
  }
}

TEST_P(EngineConformance, ReachesTheDepthAskedFor) {
  Open({.iodepth = 32, .batch_submit = 8, .batch_complete = 8});
  Witness witness = MakeWitness();
  const JobRecord record = bench_->Run(bench_->engine(), &witness);
  ExpectNoBreach(witness);
  EXPECT_EQ(witness.depth_max, bench_->iodepth());
  EXPECT_EQ(record.depth_max, bench_->iodepth());
  EXPECT_LE(record.depth_mean, bench_->iodepth());
}

TEST_P(EngineConformance, AllocatesNothingFromBarrierToDrain) {
  Open({.iodepth = 32, .batch_submit = 8, .batch_complete = 8});
  Witness witness = MakeWitness();
  bench_->Run(bench_->engine(), &witness);
  EXPECT_GT(witness.completed, 100u);
  EXPECT_EQ(bench_->allocations(), 0u);
}

// Passes on at most as many requests as its script says, in turn; 0 now and then.
class ThrottledEngine final : public Engine {
 public:
  explicit ThrottledEngine(Engine* inner) : inner_(inner) {}
  Result<void> Open(const EngineOpenArgs&) override { return {}; }
  int Submit(std::span<const IoOp> ops) override {
    constexpr size_t kScript[] = {1, 3, 0, 2, 1, 0};
    const size_t most = std::min(kScript[calls_++ % std::size(kScript)], ops.size());
    if (most == 0 && in_flight_ > 0) return 0;
    const int taken = inner_->Submit(ops.first(std::max<size_t>(1, most)));
    in_flight_ += std::max(taken, 0);
    return taken;
  }
  int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) override {
    const int count = inner_->Reap(out, min, timeout_ns);
    in_flight_ -= std::max(count, 0);
    return count;
  }

 private:
  Engine* inner_;
  size_t calls_ = 0;
  int in_flight_ = 0;
};

TEST_P(EngineConformance, PartialSubmitsLoseNothingAndKeepStartStamps) {
  Open();
  ThrottledEngine throttled(bench_->engine());
  Witness witness = MakeWitness();
  const JobRecord record = bench_->Run(&throttled, &witness);
  ExpectNoBreach(witness);
  if (bench_->iodepth() > 1) {
    EXPECT_GT(witness.partial_submits, 10u);
  }
  EXPECT_EQ(witness.completed, witness.issued);
  // What was made and never taken is forgotten at the close.
  EXPECT_LE(witness.made - witness.completed, 4u);
  EXPECT_TRUE(record.errors.empty());
}

TEST_P(WaitingEngineConformance, AReapWithNothingToTakeWaitsOutItsTimeoutAndNoLonger) {
  Open();
  std::vector<IoCompletion> out(8);
  const MonotonicClock clock;
  const int64_t before_ns = clock.NowNs();
  EXPECT_EQ(bench_->engine()->Reap(out, 1, 0), 0);
  const int64_t polled_ns = clock.NowNs();
  EXPECT_EQ(bench_->engine()->Reap(out, 1, 20'000'000), 0);
  const int64_t waited_ns = clock.NowNs() - polled_ns;
  EXPECT_LT(polled_ns - before_ns, 20'000'000);
  EXPECT_GE(waited_ns, 20'000'000);
  EXPECT_LT(waited_ns, 2'000'000'000);
}

TEST_P(AsynchronousEngineConformance, ATimeoutGivesWhatIsThere) {
  Open({.iodepth = 4});
  const std::vector<IoOp> ops = {{0, EngineBench::kBsBytes, 0, Direction::kRead},
                                 {0, EngineBench::kBsBytes, 1, Direction::kRead}};
  ASSERT_EQ(bench_->engine()->Submit(ops), 2);
  std::vector<IoCompletion> out(4);
  EXPECT_EQ(bench_->engine()->Reap(out, 4, 300'000'000), 2);
}

TEST_P(AsynchronousEngineConformance, B15BatchesAreSubmittedWholeOnlyIfReapedWhole) {
  using Sizes = std::vector<std::pair<uint32_t, uint64_t>>;
  const auto sizes_with = [this](uint32_t batch_complete) -> Sizes {
    EngineBench bench(GetParam());
    const auto opened =
        bench.Open({.iodepth = 256, .batch_submit = 64, .batch_complete = batch_complete});
    EXPECT_TRUE(opened) << opened.error().message;
    Witness witness(bench.iodepth(), IssuePointOfRow());
    return bench.Run(bench.engine(), &witness).submit_sizes;
  };
  const Sizes whole = sizes_with(64);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole.front().first, 64u);
  const Sizes single = sizes_with(1);
  ASSERT_FALSE(single.empty());
  uint64_t calls = 0;
  for (const auto& [ios, count] : single) calls += count;
  EXPECT_EQ(single.front().first, 1u);
  EXPECT_GT(single.front().second * 10, calls * 9);
}

TEST_P(FileEngineConformance, ShortReadsAreCountedAndNotTimed) {
  Open({.region_bytes = 2 * EngineBench::kFileBytes});
  Witness witness = MakeWitness();
  const JobRecord record = bench_->Run(bench_->engine(), &witness);
  ASSERT_EQ(record.errors.size(), 1u);
  EXPECT_EQ(record.errors.begin()->first, "read short");
  const uint64_t errors = record.errors.begin()->second;
  const uint64_t good = record.ios_trimmed + record.directions.front().ios + record.ios_drained;
  EXPECT_EQ(good + errors, witness.completed);
  EXPECT_NEAR(static_cast<double>(errors) / static_cast<double>(witness.completed), 0.5, 0.2);
  EXPECT_EQ(record.directions.front().lat.count(), record.directions.front().ios);
}

TEST_P(FileEngineConformance, FailedWritesAreCountedByErrnoAndNotTimed) {
  Open({.rw = Rw::kRandWrite, .open_for_writing = false, .ramp_ns = 0, .runtime_ns = 5'000'000});
  Witness witness = MakeWitness();
  const JobRecord record = bench_->Run(bench_->engine(), &witness);
  ASSERT_EQ(record.errors.size(), 1u);
  EXPECT_EQ(record.errors.begin()->first, "write EBADF");
  EXPECT_EQ(record.directions.front().ios, 0u);
  EXPECT_EQ(record.directions.front().lat.count(), 0u);
  EXPECT_EQ(record.outstanding, 0u);
}

// In a mount namespace of its own: twice as much is written as the file system has room for.
// Prints what does not hold; 77 where nothing may be mounted.
int WriteToAFullFileSystem(const EngineCase& row) {
  const std::string folder = ::testing::TempDir() + "full_" + std::to_string(::getpid());
  const std::string options = "size=" + std::to_string(EngineBench::kFileBytes);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return 77;
  }
  std::filesystem::create_directory(folder);
  if (::mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) != 0) return 77;
  EngineBench bench(row, folder + "/");
  const auto opened = bench.Open({.rw = Rw::kRandWrite,
                                  .open_for_writing = true,
                                  .region_bytes = 2 * EngineBench::kFileBytes});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 1;
  }
  Witness witness(bench.iodepth(), row.info->issue(row.params).point);
  const JobRecord record = bench.Run(bench.engine(), &witness);
  const uint64_t good = record.ios_trimmed + record.directions.front().ios + record.ios_drained;
  const auto failed = record.errors.find("write ENOSPC");
  const uint64_t errors = failed == record.errors.end() ? 0 : failed->second;
  const bool sound = record.errors.size() == 1 && errors > 0 && good > 0 &&
                     good + errors == witness.completed &&
                     record.directions.front().lat.count() == record.directions.front().ios;
  std::fprintf(stderr, "%s: %zu good, %zu of %zu failed\n", sound ? "sound" : "unsound", good,
               errors, witness.completed);
  return sound ? 0 : 1;
}

TEST_P(FileEngineConformance, B33WritesThatFindNoRoomAreErrorsAndNoIo) {
  EXPECT_EXIT(
      ::_exit(WriteToAFullFileSystem(GetParam())),
      [](int status) {
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
      },
      "");
}

TEST_P(FileEngineConformance, ReadsFillTheBufferOfTheirSlot) {
  Open();
  const uint32_t count = bench_->iodepth();
  std::vector<IoOp> ops;
  for (uint32_t slot = 0; slot < count; slot++) {
    ops.push_back({uint64_t{EngineBench::kBsBytes} * (7 * slot + 3), EngineBench::kBsBytes,
                   static_cast<uint16_t>(slot), Direction::kRead});
  }
  std::set<uint32_t> seen;
  size_t taken = 0;
  std::vector<IoCompletion> out(count);
  while (seen.size() < count) {
    if (taken < count) {
      const int more = bench_->engine()->Submit(std::span(ops).subspan(taken));
      ASSERT_GE(more, 0);
      taken += static_cast<size_t>(more);
    }
    const int reaped = bench_->engine()->Reap(out, 1, 1'000'000'000);
    ASSERT_GT(reaped, 0);
    for (int i = 0; i < reaped; i++) {
      EXPECT_EQ(out[static_cast<size_t>(i)].result, static_cast<int>(EngineBench::kBsBytes));
      EXPECT_TRUE(seen.insert(out[static_cast<size_t>(i)].slot).second);
    }
  }
  for (uint32_t slot = 0; slot < count; slot++) {
    for (const std::byte byte : bench_->Buffer(slot)) {
      ASSERT_EQ(std::to_integer<uint32_t>(byte), 7 * slot + 3);
    }
  }
}

TEST_P(FileEngineConformance, WritesTakeTheBufferOfTheirSlot) {
  Open({.rw = Rw::kRandWrite, .open_for_writing = true});
  const uint32_t slot = bench_->iodepth() - 1;
  std::ranges::fill(bench_->Buffer(slot), std::byte{0xee});
  const std::vector<IoOp> ops = {{5 * EngineBench::kBsBytes, EngineBench::kBsBytes,
                                  static_cast<uint16_t>(slot), Direction::kWrite}};
  ASSERT_EQ(bench_->engine()->Submit(ops), 1);
  std::vector<IoCompletion> out(1);
  ASSERT_EQ(bench_->engine()->Reap(out, 1, 1'000'000'000), 1);
  EXPECT_EQ(out[0].result, static_cast<int>(EngineBench::kBsBytes));
  std::ifstream file(bench_->path(), std::ios::binary);
  std::string text(EngineBench::kFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\xee'),
            // Block 0xee of the file holds that byte as well.
            static_cast<std::ptrdiff_t>(2 * EngineBench::kBsBytes));
  EXPECT_EQ(text[5 * EngineBench::kBsBytes], '\xee');
  EXPECT_EQ(text[6 * EngineBench::kBsBytes - 1], '\xee');
}

TEST_P(FileEngineConformance, OpensReadOnlyUnlessTheJobWrites) {
  Open();
  const std::vector<IoOp> ops = {{0, EngineBench::kBsBytes, 0, Direction::kWrite}};
  const int taken = bench_->engine()->Submit(ops);
  if (taken < 0) {
    EXPECT_EQ(taken, -EBADF);
    return;
  }
  std::vector<IoCompletion> out(1);
  ASSERT_EQ(bench_->engine()->Reap(out, 1, 1'000'000'000), 1);
  EXPECT_EQ(out[0].result, -EBADF);
}

TEST_P(EngineConformance, SaysWhereIssueIsStamped) {
  EXPECT_FALSE(GetParam().info->issue(GetParam().params).doc.empty());
  EXPECT_FALSE(GetParam().info->help.empty());
}

std::vector<EngineCase> CasesWith(bool (*wanted)(const EngineInfo&)) {
  std::vector<EngineCase> rows = AllEngineCases();
  std::erase_if(rows, [&](const EngineCase& row) { return !wanted(*row.info); });
  return rows;
}

std::string RowName(const ::testing::TestParamInfo<EngineCase>& row) { return NameOf(row.param); }

bool Waits(const EngineInfo& info) { return info.name != "sim"; }
bool HoldsSeveral(const EngineInfo& info) { return Waits(info) && !info.synchronous; }

INSTANTIATE_TEST_SUITE_P(AllEngines, EngineConformance, ::testing::ValuesIn(AllEngineCases()),
                         RowName);
INSTANTIATE_TEST_SUITE_P(AllEngines, FileEngineConformance,
                         ::testing::ValuesIn(CasesWith(EngineBench::UsesFile)), RowName);
INSTANTIATE_TEST_SUITE_P(AllEngines, WaitingEngineConformance,
                         ::testing::ValuesIn(CasesWith(Waits)), RowName);
INSTANTIATE_TEST_SUITE_P(AllEngines, AsynchronousEngineConformance,
                         ::testing::ValuesIn(CasesWith(HoldsSeveral)), RowName);

}  // namespace
}  // namespace blkfair
