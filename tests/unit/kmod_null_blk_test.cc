#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "kmod_setup/fixture_table.h"
#include "kmod_setup/journal.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

using Texts = std::vector<std::string>;
using Ints = std::vector<int64_t>;

// The table's defaults, with the service times of the lopsided pair.
ParamValues Pair() {
  ParamValues params;
  params.Set("queues", int64_t{2});
  params.Set("shared_tags", true);
  params.Set("depth", int64_t{64});
  params.Set("hw_queues", int64_t{1});
  params.Set("poll_queues", int64_t{0});
  params.Set("shared_tag_bitmap", false);
  params.Set("service_time", Ints{100'000'000, 1'000'000});
  params.Set("block_size", Ints{512});
  params.Set("size", Ints{int64_t{1} << 30});
  params.Set("memory_backed", false);
  params.Set("blocking", false);
  params.Set("discard", false);
  params.Set("scheduler", Texts{"none"});
  return params;
}

ParamValues With(ParamValues params, std::string_view key, ParamValue value) {
  params.Set(key, std::move(value));
  return params;
}

class NullBlkTest : public testing::Test {
 protected:
  void SetUp() override {
    fs_.AddProcess(::getpid(), "100");
    before_ = Snapshot(fs_root_);
  }
  FixtureContext Context(Journal* journal) {
    return {.fs = &fs_, .modules = &modules_, .journal = journal, .sleep = [](int64_t) {
              return true;
            }};
  }
  std::unique_ptr<Fixture> Make(const ParamValues& params) {
    return FindFixture("null_blk")->create("pair", params, Context(&journal_));
  }
  std::string SetUpError(const ParamValues& params) {
    const auto fixture = Make(params);
    Result<void> done = fixture->Require();
    if (done) done = fixture->SetUp();
    EXPECT_FALSE(done);
    return done ? "" : done.error().message;
  }
  std::string Setting(const Fixture& fixture, const std::string& key) {
    for (const auto& [name, value] : fixture.facts().settings) {
      if (name == key) return value;
    }
    return "absent";
  }

  TempDir dir_;
  const std::string fs_root_ = dir_.path() + "/kernel";
  FakeKernelFs fs_{fs_root_};
  FakeModuleLoader modules_{&fs_};
  Journal journal_ = Journal::Discarding();
  std::map<std::string, std::string> before_;
};

TEST_F(NullBlkTest, MakesQueuesThatShareATagSet) {
  const auto fixture = Make(With(Pair(), "scheduler", Texts{"none", "kyber"}));
  ASSERT_TRUE(fixture->Require());
  const Result<void> up = fixture->SetUp();
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ(fixture->facts().tags,
            (TagSetFacts{.shared = true, .nr_tags = 64, .nr_reserved_tags = 0, .nr_hw_queues = 1}));
  ASSERT_EQ(fixture->queues().size(), 2u);
  const Queue& queue = fixture->queues()[1];
  EXPECT_EQ(queue.Name(), "pair:1");
  EXPECT_EQ(queue.disk, "bf-pair-1");
  EXPECT_EQ(queue.path, fs_.roots().dev + "/bf-pair-1");
  EXPECT_EQ(queue.size_bytes, uint64_t{1} << 30);
  EXPECT_EQ(queue.dma_alignment_bytes, 512u);
  EXPECT_EQ(queue.max_transfer_bytes, 127u * 1024);
  EXPECT_EQ(Setting(*fixture, "module null_blk hw_queue_depth"), "64");
  EXPECT_EQ(Setting(*fixture, "pair:0 completion_nsec"), "100000000");
  EXPECT_EQ(Setting(*fixture, "pair:1 completion_nsec"), "1000000");
  EXPECT_EQ(Setting(*fixture, "pair:1 irqmode"), "2");
  EXPECT_EQ(Setting(*fixture, "pair:0 scheduler"), "none");
  EXPECT_EQ(Setting(*fixture, "pair:1 scheduler"), "kyber");
  ASSERT_TRUE(fixture->TearDown());
  EXPECT_TRUE(fixture->queues().empty());
  EXPECT_EQ(Snapshot(fs_root_), before_);
  EXPECT_EQ(journal_.open_operations(), 0u);
}

TEST_F(NullBlkTest, GivesEachQueueItsOwnTags) {
  const auto fixture = Make(With(With(Pair(), "shared_tags", false), "depth", int64_t{16}));
  const Result<void> up = fixture->SetUp();
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_FALSE(fixture->facts().tags.shared);
  EXPECT_EQ(fixture->facts().tags.nr_tags, 16u);
  EXPECT_EQ(Setting(*fixture, "pair:0 poll_queues"), "0");
  EXPECT_EQ(Setting(*fixture, "pair:0 hw_queue_depth"), "16");
}

// The N-th change fails, for every N. Set-up leaves nothing; what tear-down could not undo it
// reports, and the journal can.
TEST_F(NullBlkTest, LeavesNothingBehindWhateverFails) {
  const std::string journals = dir_.path() + "/journals";
  const ParamValues params =
      With(With(Pair(), "scheduler", Texts{"kyber"}), "nr_requests", Ints{32});
  bool swept = false;
  for (int n = 0; !swept; n++) {
    ASSERT_LT(n, 500);
    FakeKernelFs fs(fs_root_);
    FakeModuleLoader modules(&fs);
    fs.FailMutation(n);
    bool failed = false;
    {
      Journal journal = Journal::Create(journals, fs).value();
      const FixtureContext context = {
          .fs = &fs, .modules = &modules, .journal = &journal, .sleep = [](int64_t) {
            return true;
          }};
      const auto fixture = FindFixture("null_blk")->create("pair", params, context);
      const Result<void> up = fixture->SetUp();
      if (!up) {
        EXPECT_NE(up.error().message.find("Input/output error"), std::string::npos);
        EXPECT_EQ(Snapshot(fs_root_), before_) << "set-up, change " << n;
        EXPECT_EQ(journal.open_operations(), 0u);
        continue;
      }
      const Result<void> down = fixture->TearDown();
      failed = !down;
      swept = fs.mutations() <= n;
      EXPECT_EQ(failed, !swept) << "change " << n;
      if (failed) {
        EXPECT_NE(down.error().message.find("Input/output error"), std::string::npos);
        EXPECT_GE(journal.open_operations(), 1u);
      }
    }
    if (failed) {
      fs.RemoveProcess(::getpid());
      const CleanReport report = UndoJournals(journals, fs, modules, nullptr);
      EXPECT_TRUE(report.ok()) << report.failures.front();
      fs.AddProcess(::getpid(), "100");
    }
    EXPECT_EQ(Snapshot(fs_root_), before_) << "change " << n;
    EXPECT_TRUE(std::filesystem::is_empty(journals)) << "change " << n;
  }
}

// Killed just before or just after the N-th change, for every N; then cleaned.
TEST_F(NullBlkTest, CleanUndoesARunKilledAnywhere) {
  const std::string journals = dir_.path() + "/journals";
  constexpr int kCompleted = 9;
  bool swept = false;
  for (int n = 0; !swept; n++) {
    ASSERT_LT(n, 500);
    for (const bool after : {false, true}) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        FakeKernelFs fs(fs_root_);
        FakeModuleLoader modules(&fs);
        fs.AddProcess(::getpid(), "200");
        fs.watch = [&](int at, bool is_after) {
          if (at == n && is_after == after) ::_exit(0);
        };
        Journal journal = Journal::Create(journals, fs).value();
        const FixtureContext context = {
            .fs = &fs, .modules = &modules, .journal = &journal, .sleep = [](int64_t) {
              return true;
            }};
        const auto fixture = FindFixture("null_blk")->create("pair", Pair(), context);
        const bool ok = fixture->SetUp() && fixture->TearDown();
        ::_exit(ok ? kCompleted : 1);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_NE(WEXITSTATUS(status), 1);
      swept = WEXITSTATUS(status) == kCompleted;
      fs_.RemoveProcess(child);
      const CleanReport report = UndoJournals(journals, fs_, modules_, nullptr);
      EXPECT_TRUE(report.ok()) << report.failures.front();
      EXPECT_EQ(report.journals_undone, 1u);
      EXPECT_EQ(Snapshot(fs_root_), before_) << "change " << n << (after ? " after" : " before");
      EXPECT_TRUE(std::filesystem::is_empty(journals));
    }
  }
}

TEST_F(NullBlkTest, NamesBothValuesWhenTheKernelClamps) {
  fs_.MakeStubborn("bf-pair-1/completion_nsec", "77");
  const std::string message = SetUpError(Pair());
  EXPECT_NE(message.find("bf-pair-1/completion_nsec is 77 where 1000000 was asked"),
            std::string::npos)
      << message;
  EXPECT_EQ(Snapshot(fs_root_), before_);
}

TEST_F(NullBlkTest, RefusesATagSetThatWasResizedBefore) {
  fs_.watch = [&](int, bool) {
    const std::string tags = fs_.roots().debugfs + "/block/bf-pair-0/hctx0/tags";
    if (!fs_.Exists(tags)) return;
    std::string text = ReadWholeFile(tags).value();
    if (const size_t at = text.find("depth=64"); at != std::string::npos)
      text.replace(at, 8, "depth=32");
    ASSERT_TRUE(WriteWholeFile(tags, text));
  };
  const std::string message = SetUpError(Pair());
  EXPECT_NE(message.find("the depth of the tag set of bf-pair-0 is 32 where 64 was asked"),
            std::string::npos)
      << message;
}

TEST_F(NullBlkTest, LoadsAnUnusedModuleAnewAndPutsItBack) {
  ASSERT_TRUE(modules_.Load("configfs", {}));
  ASSERT_TRUE(modules_.Load("null_blk", {{"hw_queue_depth", "128"}, {"gb", "2"}}));
  const auto before = Snapshot(fs_root_);
  const auto fixture = Make(Pair());
  ASSERT_TRUE(fixture->Require());
  ASSERT_TRUE(fixture->SetUp());
  EXPECT_EQ(Setting(*fixture, "module null_blk hw_queue_depth"), "64");
  ASSERT_TRUE(fixture->TearDown());
  EXPECT_EQ(Snapshot(fs_root_), before);
}

TEST_F(NullBlkTest, LeavesAModuleInUseAlone) {
  ASSERT_TRUE(modules_.Load("configfs", {}));
  ASSERT_TRUE(modules_.Load("null_blk", {{"hw_queue_depth", "128"}}));
  ASSERT_TRUE(WriteWholeFile(fs_.roots().sys + "/module/null_blk/refcnt", "1\n"));
  const Result<void> required = Make(Pair())->Require();
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(required.error().message.find("in use, with nr_devices = 1 (needed: 0)"),
            std::string::npos)
      << required.error().message;
  EXPECT_NE(required.error().message.find("hw_queue_depth = 128 (needed: 64)"), std::string::npos);
}

TEST_F(NullBlkTest, TellsTheCommandLineForABuiltInDriver) {
  ASSERT_TRUE(modules_.Load("configfs", {}));
  ASSERT_TRUE(modules_.Load("null_blk", {}));
  std::filesystem::remove(fs_.roots().sys + "/module/null_blk/initstate");
  const Result<void> required = Make(Pair())->Require();
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(required.error().message.find("built into this kernel"), std::string::npos);
  for (const std::string& word : FindFixture("null_blk")->boot_parameters(Pair())) {
    EXPECT_NE(required.error().message.find(word), std::string::npos) << word;
  }
  // Devices of their own do not care.
  EXPECT_TRUE(Make(With(Pair(), "shared_tags", false))->Require());
}

TEST_F(NullBlkTest, RefusesASharedSetThatAnotherDeviceUses) {
  const auto first = Make(Pair());
  ASSERT_TRUE(first->SetUp());
  const auto second = FindFixture("null_blk")->create("other", Pair(), Context(&journal_));
  const Result<void> up = second->SetUp();
  ASSERT_FALSE(up);
  EXPECT_EQ(up.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(up.error().message.find("device bf-pair-0 is using it"), std::string::npos);
  ASSERT_TRUE(first->TearDown());
  EXPECT_EQ(Snapshot(fs_root_), before_);
}

TEST_F(NullBlkTest, NamesWhatIsMissing) {
  modules_.available = {"configfs"};
  Result<void> required = Make(Pair())->Require();
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(required.error().message.find("fixture pair needs null_blk"), std::string::npos);
  EXPECT_EQ(required.error().message.find("configfs"), std::string::npos);

  modules_.available = {"null_blk"};
  required = Make(Pair())->Require();
  ASSERT_FALSE(required);
  EXPECT_NE(required.error().message.find("fixture pair needs configfs"), std::string::npos);

  modules_.available = {"null_blk", "configfs"};
  ASSERT_TRUE(WriteWholeFile(fs_.roots().proc + "/self/status", "CapEff:\t0000000000000000\n"));
  required = Make(Pair())->Require();
  ASSERT_FALSE(required);
  EXPECT_NE(required.error().message.find("fixture pair needs root"), std::string::npos);
}

TEST_F(NullBlkTest, NamesASchedulerThatTheKernelLacks) {
  // The fake offers bfq only once it was chosen, as a kernel without it does.
  modules_.available = {"configfs", "null_blk"};
  const std::string message = SetUpError(With(Pair(), "scheduler", Texts{"none", "nosuch"}));
  EXPECT_NE(message.find("needs the scheduler nosuch"), std::string::npos) << message;
  EXPECT_EQ(Snapshot(fs_root_), before_);
}

TEST_F(NullBlkTest, RefusesNamesThatNoDiskCanHave) {
  const auto fixture =
      FindFixture("null_blk")->create(std::string(28, 'x'), Pair(), Context(&journal_));
  const Result<void> required = fixture->Require();
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().kind, ErrorKind::kUsage);
}

TEST(NullBlkParams, SaysWhatCannotBe) {
  const auto check = FindFixture("null_blk")->check;
  EXPECT_EQ(check(Pair()), std::nullopt);
  EXPECT_EQ(check(With(Pair(), "service_time", Ints{1, 2, 3})),
            "service_time has 3 values for 2 queues: give one value, or one for each queue");
  EXPECT_TRUE(check(With(Pair(), "block_size", Ints{3000})).has_value());
  EXPECT_TRUE(check(With(Pair(), "size", Ints{(1 << 20) + 512})).has_value());
  EXPECT_TRUE(check(With(Pair(), "nr_requests", Ints{65})).has_value());
  EXPECT_TRUE(check(With(Pair(), "nr_requests", Ints{3})).has_value());
  EXPECT_TRUE(check(With(Pair(), "discard", true)).has_value());
  EXPECT_EQ(check(With(With(Pair(), "nr_requests", Ints{128}), "scheduler", Texts{"bfq"})),
            std::nullopt);
}

TEST(NullBlkParams, ShapeTheGuest) {
  const FixtureInfo& info = *FindFixture("null_blk");
  EXPECT_EQ(info.modules(With(Pair(), "scheduler", Texts{"none", "kyber"})),
            (Texts{"null_blk", "kyber-iosched"}));
  const Texts words = info.boot_parameters(With(Pair(), "memory_backed", true));
  for (const char* const word :
       {"null_blk.nr_devices=0", "null_blk.shared_tags=1", "null_blk.hw_queue_depth=64",
        "null_blk.poll_queues=0", "null_blk.blocking=1", "null_blk.irqmode=2"}) {
    EXPECT_EQ(std::count(words.begin(), words.end(), word), 1) << word;
  }
  EXPECT_EQ(info.queue_count(Pair()), 2u);
}

TEST(SimFixture, MakesSimulatedQueues) {
  ParamValues params;
  params.Set("queues", int64_t{2});
  params.Set("shared_tags", true);
  params.Set("depth", int64_t{64});
  params.Set("policy", std::string("fcfs"));
  params.Set("service_time", Ints{20'000'000, 200'000'000});
  params.Set("service_cv", 0.5);
  params.Set("stall_at", Ints{0, 2'000'000'000});
  params.Set("stall_for", Ints{0, 1'000'000'000});
  params.Set("block_size", Ints{4096});
  params.Set("size", Ints{1 << 20});
  const FixtureInfo& info = *FindFixture("sim");
  EXPECT_FALSE(info.needs_kernel);
  const auto fixture = info.create("pair", params, {});
  ASSERT_TRUE(fixture->SetUp());
  ASSERT_EQ(fixture->queues().size(), 2u);
  const Queue& queue = fixture->queues()[1];
  EXPECT_EQ(queue.kind, QueueKind::kSim);
  EXPECT_EQ(queue.sim.group, "pair");
  EXPECT_EQ(queue.sim.policy, "fcfs");
  EXPECT_EQ(queue.sim.tags, 64u);
  EXPECT_EQ(queue.sim.service_ns, 200'000'000);
  EXPECT_EQ(queue.sim.service_cv, 0.5);
  EXPECT_EQ(queue.sim.stall_at_ns, 2'000'000'000);
  EXPECT_EQ(queue.sim.stall_for_ns, 1'000'000'000);
  EXPECT_EQ(fixture->queues()[0].sim.stall_for_ns, 0);
  EXPECT_TRUE(queue.sim.shared);
  EXPECT_EQ(queue.logical_block_bytes, 4096u);
  EXPECT_TRUE(fixture->facts().tags.shared);
}

TEST(FixtureTable, RowsAreWholeAndFoundByName) {
  for (const FixtureInfo* const info : AllFixtures()) {
    EXPECT_EQ(FindFixture(info->name), info);
    EXPECT_TRUE(info->modules && info->boot_parameters && info->queue_count && info->check &&
                info->create)
        << info->name;
    EXPECT_FALSE(info->params.empty()) << info->name;
  }
  EXPECT_EQ(FindFixture("no such fixture"), nullptr);
}

}  // namespace
}  // namespace blkfair
