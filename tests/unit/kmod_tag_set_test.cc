#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "kmod_setup/tag_set.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

std::string Recorded(const std::string& kernel, const std::string& file) {
  return ReadWholeFile(std::string(BLKFAIR_TESTDATA) + "/debugfs/" + kernel + "/" + file).value();
}

// Per kernel: what was seen when its files were recorded.
struct Case {
  const char* kernel;
  uint32_t busy;
  uint32_t cleared;
  uint32_t active;
  bool host_wide;
  bool tag_active;  // not an hctx's business with host-wide tags
};

class RecordedTagSet : public testing::TestWithParam<Case> {};

TEST_P(RecordedTagSet, ParsesToWhatWasSeen) {
  const Case& seen = GetParam();
  const HctxTags tags = ParseHctxTags(Recorded(seen.kernel, "tags")).value();
  EXPECT_EQ(tags, (HctxTags{.nr_tags = 64,
                            .nr_reserved_tags = 0,
                            .active_queues = 2,
                            .depth = 64,
                            .busy = seen.busy,
                            .cleared = seen.cleared,
                            .wake_batch = 4,
                            .ws_active = 0}));
  EXPECT_EQ(ParseHctxActive(Recorded(seen.kernel, "active")).value(), seen.active);
  EXPECT_EQ(CountBusyEntries(Recorded(seen.kernel, "busy")), seen.active);
  EXPECT_EQ(ParseHctxFlags(Recorded(seen.kernel, "flags")),
            (HctxFlags{.tag_queue_shared = true, .tag_hctx_shared = seen.host_wide}));
  EXPECT_EQ(ParseHctxState(Recorded(seen.kernel, "state")),
            (HctxState{.tag_active = seen.tag_active}));
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedTagSet,
                         testing::Values(Case{"6.1-null_blk", 12, 2, 11, false, true},
                                         Case{"6.1-null_blk-host-wide", 12, 11, 11, true, false},
                                         Case{"6.12-null_blk", 10, 3, 10, false, true},
                                         Case{"6.12-null_blk-host-wide", 12, 2, 11, true, false},
                                         Case{"7.3-null_blk", 11, 18, 11, false, true},
                                         Case{"7.3-null_blk-host-wide", 12, 3, 11, true, false}));

TEST(HctxTags, KeepsTheReservedTagsApart) {
  const std::string text =
      "nr_tags=63\nnr_reserved_tags=1\nactive_queues=1\n\nbitmap_tags:\ndepth=62\nbusy=5\n"
      "cleared=0\nwake_batch=7\nws_active=2\n\nbreserved_tags:\ndepth=1\nbusy=1\ncleared=0\n"
      "wake_batch=1\nws_active=0\n";
  const HctxTags tags = ParseHctxTags(text).value();
  EXPECT_EQ(tags.depth, 62u);
  EXPECT_EQ(tags.busy, 5u);
  EXPECT_EQ(tags.wake_batch, 7u);
  EXPECT_EQ(tags.ws_active, 2u);
}

TEST(HctxTags, LeavesActiveQueuesAbsentWhereTheKernelDoes) {
  const std::string text =
      "nr_tags=64\nnr_reserved_tags=0\n\nbitmap_tags:\ndepth=64\nbusy=0\ncleared=0\n"
      "wake_batch=8\nws_active=0\n";
  EXPECT_FALSE(ParseHctxTags(text).value().active_queues.has_value());
}

TEST(HctxTags, RefusesATextWithAFieldMissing) {
  const Result<HctxTags> tags = ParseHctxTags("nr_tags=64\nnr_reserved_tags=0\n");
  ASSERT_FALSE(tags);
  EXPECT_EQ(tags.error().message, "read hctx tags: 2 of 7 known fields are there");
}

TEST(HctxTags, RefusesWhatIsNoCount) {
  EXPECT_FALSE(ParseHctxTags("nr_tags=many\n"));
  EXPECT_FALSE(ParseHctxActive("\n"));
}

TEST(HctxFlags, TakesNoPartOfAWordForAFlag) {
  EXPECT_EQ(ParseHctxFlags("TAG_QUEUE_SHARED2|NONBLOCKING\n"), HctxFlags{});
}

// A disk with two hardware queues, from recorded files.
class TagSamplerTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const hctx : {"hctx0", "hctx1"}) CopyHctx("6.12-null_blk", hctx);
  }
  void CopyHctx(const std::string& kernel, const std::string& hctx) {
    std::filesystem::create_directories(Dir() + hctx);
    for (const char* const file : {"tags", "active", "busy", "flags", "state"}) {
      ASSERT_TRUE(WriteWholeFile(Dir() + hctx + "/" + file, Recorded(kernel, file)));
    }
  }
  std::string Dir() const { return fs_.roots().debugfs + "/block/disk/"; }

  TempDir dir_;
  FakeKernelFs fs_{dir_.path()};
};

TEST_F(TagSamplerTest, SumsTheHardwareQueues) {
  TagSampler sampler = TagSampler::Open(fs_, "disk").value();
  const TagSample sample = sampler.Sample().value();
  EXPECT_EQ(sample.active, 20u);
  EXPECT_EQ(sample.busy_entries, 20u);
  EXPECT_EQ(sample.active_queues, 2u);
  EXPECT_EQ(sample.tags_busy, 20u);
  EXPECT_EQ(sample.usable_tags, 128u);
  EXPECT_EQ(sample.wake_batch, 4u);
}

TEST_F(TagSamplerTest, CountsHostWideTagsOnce) {
  for (const char* const hctx : {"hctx0", "hctx1"}) CopyHctx("6.12-null_blk-host-wide", hctx);
  TagSampler sampler = TagSampler::Open(fs_, "disk").value();
  const TagSample sample = sampler.Sample().value();
  EXPECT_EQ(sample.active, 11u);
  EXPECT_EQ(sample.usable_tags, 64u);
  EXPECT_EQ(sample.tags_busy, 12u);
}

TEST_F(TagSamplerTest, ReadsAnewEachTime) {
  TagSampler sampler = TagSampler::Open(fs_, "disk").value();
  ASSERT_TRUE(sampler.Sample());
  ASSERT_TRUE(WriteWholeFile(Dir() + "hctx0/active", "33\n"));
  ASSERT_TRUE(WriteWholeFile(Dir() + "hctx0/busy", std::string(100'000, 'x') + "\n"));
  const TagSample sample = sampler.Sample().value();
  EXPECT_EQ(sample.active, 43u);
  EXPECT_EQ(sample.busy_entries, 11u);
}

TEST_F(TagSamplerTest, DoesWithoutActive) {
  std::filesystem::remove(Dir() + "hctx0/active");
  std::filesystem::remove(Dir() + "hctx1/active");
  TagSampler sampler = TagSampler::Open(fs_, "disk").value();
  const TagSample sample = sampler.Sample().value();
  EXPECT_FALSE(sample.active.has_value());
  EXPECT_EQ(sample.busy_entries, 20u);
}

TEST_F(TagSamplerTest, TellsUsersForSettling) {
  EXPECT_EQ(ReadActiveQueues(fs_, "disk").value(), 2u);
  EXPECT_FALSE(ReadActiveQueues(fs_, "other"));
}

}  // namespace
}  // namespace blkfair
