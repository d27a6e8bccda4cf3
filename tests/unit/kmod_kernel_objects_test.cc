#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "kmod_setup/kernel_objects.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

class KernelObjectsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteWholeFile(Attr("limit"), "8\n"));
    std::filesystem::create_directories(fs_.roots().sys + "/queue");
    ASSERT_TRUE(WriteWholeFile(Attr("queue/scheduler"), "none [mq-deadline] kyber bfq \n"));
  }
  std::string Attr(const std::string& name) const { return fs_.roots().sys + "/" + name; }
  std::string Text(const std::string& name) const { return fs_.ReadLine(Attr(name)).value(); }

  TempDir dir_;
  FakeKernelFs fs_{dir_.path()};
  FakeModuleLoader modules_{&fs_};
  Journal journal_ = Journal::Discarding();
  int pauses_ = 0;
  FixtureContext context_{
      .fs = &fs_, .modules = &modules_, .journal = &journal_, .sleep = [this](int64_t) {
        return ++pauses_ > 0;
      }};
};

TEST_F(KernelObjectsTest, SavedAttrGivesTheChosenValueBack) {
  auto attr = SavedAttr::Create(context_, Attr("queue/scheduler"), "none").value();
  EXPECT_EQ(ChosenValue(Text("queue/scheduler")), "none");
  EXPECT_EQ(journal_.open_operations(), 1u);
  ASSERT_TRUE(attr->Release());
  EXPECT_EQ(ChosenValue(Text("queue/scheduler")), "mq-deadline");
  EXPECT_EQ(journal_.open_operations(), 0u);
}

TEST_F(KernelObjectsTest, SavedAttrIsRestoredByItsDestructor) {
  { auto attr = SavedAttr::Create(context_, Attr("limit"), "16").value(); }
  EXPECT_EQ(Text("limit"), "8");
}

TEST_F(KernelObjectsTest, SavedAttrRetriesWhileItIsBusy) {
  fs_.MakeBusy("queue/scheduler", 3);
  auto attr = SavedAttr::Create(context_, Attr("queue/scheduler"), "bfq").value();
  EXPECT_EQ(pauses_, 3);
  EXPECT_EQ(ChosenValue(Text("queue/scheduler")), "bfq");
  fs_.MakeBusy("queue/scheduler", 2);
  ASSERT_TRUE(attr->Release());
  EXPECT_EQ(ChosenValue(Text("queue/scheduler")), "mq-deadline");
}

TEST_F(KernelObjectsTest, SavedAttrGivesUpOnWhatStaysBusy) {
  fs_.MakeBusy("limit", 1'000'000);
  const auto attr = SavedAttr::Create(context_, Attr("limit"), "16");
  ASSERT_FALSE(attr);
  EXPECT_EQ(attr.error().os_errno, EBUSY);
  EXPECT_EQ(pauses_, 250);
}

TEST_F(KernelObjectsTest, SavedAttrNamesBothValuesWhenItWasNotTaken) {
  fs_.MakeStubborn("limit", "10");
  const auto attr = SavedAttr::Create(context_, Attr("limit"), "16");
  ASSERT_FALSE(attr);
  EXPECT_NE(attr.error().message.find("limit is 10 after writing 16"), std::string::npos)
      << attr.error().message;
}

TEST_F(KernelObjectsTest, InterruptionEndsTheRetries) {
  context_.sleep = [](int64_t) { return false; };
  fs_.MakeBusy("limit", 5);
  const auto attr = SavedAttr::Create(context_, Attr("limit"), "16");
  ASSERT_FALSE(attr);
  EXPECT_EQ(attr.error().kind, ErrorKind::kInterrupted);
}

TEST_F(KernelObjectsTest, ReleaseGoesOnPastFailuresAndListsThemAll) {
  KernelObjects objects;
  ASSERT_TRUE(WriteWholeFile(Attr("other"), "5\n"));
  objects.Add(SavedAttr::Create(context_, Attr("limit"), "16").value());
  objects.Add(SavedAttr::Create(context_, Attr("other"), "6").value());
  objects.Add(SavedAttr::Create(context_, Attr("queue/scheduler"), "none").value());
  fs_.MakeStubborn("er", "stuck");  // "other" and "scheduler"
  const Result<void> released = objects.Release();
  ASSERT_FALSE(released);
  const std::string& message = released.error().message;
  EXPECT_LT(message.find("scheduler to mq-deadline: it is still stuck"), message.find("other to 5"))
      << message;
  EXPECT_NE(message.find("other to 5: it is still stuck"), std::string::npos) << message;
  EXPECT_EQ(Text("limit"), "8");
  EXPECT_EQ(journal_.open_operations(), 2u);
}

TEST_F(KernelObjectsTest, ConfigfsDirRefusesAnExistingOne) {
  const std::string path = Attr("bf-taken");
  ASSERT_TRUE(std::filesystem::create_directory(path));
  const auto dir = ConfigfsDir::Create(context_, path);
  ASSERT_FALSE(dir);
  EXPECT_EQ(dir.error().os_errno, EEXIST);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(KernelObjectsTest, UnloadsOnlyWhatItLoaded) {
  ASSERT_TRUE(modules_.Load("configfs", {}));
  KernelObjects objects;
  ASSERT_TRUE(objects.LoadModule(context_, "null_blk", {{"hw_queue_depth", "32"}}));
  EXPECT_EQ(ReadModuleParameter(fs_, "null_blk", "hw_queue_depth").value(), "32");
  ASSERT_TRUE(objects.Release());
  EXPECT_EQ(GetModuleState(fs_, "null_blk"), ModuleState::kAbsent);
  EXPECT_EQ(GetModuleState(fs_, "configfs"), ModuleState::kLoaded);
}

TEST_F(KernelObjectsTest, UnloadRetriesWhileSomebodyHasItOpen) {
  const std::string refcnt = fs_.roots().sys + "/module/bfq/refcnt";
  auto module = LoadedModule::Create(context_, "bfq", {}).value();
  ASSERT_TRUE(WriteWholeFile(refcnt, "1\n"));
  int attempts = 0;
  fs_.watch = [&](int, bool after) {
    if (!after || ++attempts != 2) return;
    ASSERT_TRUE(WriteWholeFile(refcnt, "0\n"));
  };
  ASSERT_TRUE(module->Release());
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(GetModuleState(fs_, "bfq"), ModuleState::kAbsent);
}

TEST(ModuleParameters, ReadBackWhatWasFormatted) {
  const ModuleParameters parameters = {
      {"nr_devices", "0"}, {"timeout", "1,50 0 1"}, {"zone", ""}, {"irqmode", "2"}};
  EXPECT_EQ(ParseModuleParameters(FormatModuleParameters(parameters)), parameters);
}

TEST(ModuleNames, AreSpelledAsSysfsDoes) {
  EXPECT_EQ(ModuleSysName("kyber-iosched"), "kyber_iosched");
}

}  // namespace
}  // namespace blkfair
