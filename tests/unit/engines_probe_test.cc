// What engines say when the kernel, its policy or the queue lacks what they need.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "engines/engine_table.h"
#include "engines/polled_queue.h"
#include "engines/uring_refusal.h"
#include "harness/run/job_setup.h"

namespace blkfair {
namespace {

struct Refusal {
  int os_errno;
  std::optional<int64_t> disabled;
  const char* says;
};

TEST(Engine, B29WhyIoUringIsUnavailableIsToldApart) {
  constexpr const char* kGroup = "kernel.io_uring_disabled is 1, which leaves io_uring to";
  constexpr const char* kOff = "kernel.io_uring_disabled is 2, which turns io_uring off";
  constexpr const char* kSeccomp = "not by a sysctl: the seccomp filter";
  constexpr const char* kHidden = "this kernel has io_uring, but a seccomp filter hides it";
  constexpr const char* kNone = "has no io_uring (older than 5.1, or without CONFIG_IO_URING), or";
  constexpr const char* kOld = "too old for what is asked of it";
  constexpr const char* kMemory = "more locked memory than RLIMIT_MEMLOCK allows";
  const Refusal table[] = {
      {EPERM, 0, kSeccomp}, {EPERM, 1, kGroup},   {EPERM, 2, kOff},     {EPERM, {}, kSeccomp},
      {ENOSYS, 0, kHidden}, {ENOSYS, 1, kHidden}, {ENOSYS, 2, kHidden}, {ENOSYS, {}, kNone},
      {EINVAL, 0, kOld},    {EINVAL, 1, kOld},    {EINVAL, 2, kOld},    {EINVAL, {}, kOld},
      {ENOMEM, 0, kMemory}, {ENOMEM, 1, kMemory}, {ENOMEM, 2, kMemory}, {ENOMEM, {}, kMemory},
  };
  for (const Refusal& row : table) {
    const Error error = UringRefusal("engine io_uring", row.os_errno, row.disabled);
    EXPECT_EQ(error.kind, ErrorKind::kUnmet) << error.message;
    EXPECT_EQ(error.os_errno, row.os_errno);
    EXPECT_TRUE(error.message.starts_with("engine io_uring: ")) << error.message;
    EXPECT_NE(error.message.find(row.says), std::string::npos)
        << row.os_errno << ", " << row.disabled.value_or(-1) << ": " << error.message;
  }
}

TEST(Engine, AnErrnoThatSaysNothingAboutThePolicyIsAnError) {
  const Error error = UringRefusal("io_uring", EMFILE, 2);
  EXPECT_EQ(error.kind, ErrorKind::kKernel);
  EXPECT_EQ(error.message, "io_uring: io_uring_setup: Too many open files");
}

class PolledQueue : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "polled_queue_" + std::to_string(::getpid());
    queue_.path = "/dev/nvme0n1";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<void> RequireOn(const std::string& disk, const std::string& io_poll) {
    const KernelFs fs(KernelRoots::Under(folder_));
    const std::string attributes = fs.roots().sys + "/block/" + disk + "/queue";
    std::filesystem::create_directories(attributes);
    std::ofstream(attributes + "/io_poll") << io_poll << "\n";
    queue_.disk = disk;
    return RequirePolledQueue(fs, queue_);
  }

  std::string folder_;
  Queue queue_;
};

TEST_F(PolledQueue, IsFineWhereTheDriverPolls) { EXPECT_TRUE(RequireOn("nvme0n1", "1")); }

TEST_F(PolledQueue, ItsAbsenceIsUnmetWithWhatWouldHelp) {
  const auto required = RequireOn("nvme0n1", "0");
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().kind, ErrorKind::kUnmet);
  for (const char* says : {"nvme0n1 has none", "null_blk gets them by poll_queues = 1",
                           "nvme by nvme.poll_queues=1"}) {
    EXPECT_NE(required.error().message.find(says), std::string::npos) << required.error().message;
  }
}

TEST_F(PolledQueue, AFileHasNone) {
  queue_.path = "some/file";
  const auto required = RequirePolledQueue(KernelFs(KernelRoots::Under(folder_)), queue_);
  ASSERT_FALSE(required);
  EXPECT_EQ(required.error().kind, ErrorKind::kUnmet);
}

TEST(UringOptions, FixedBuffersHaveNoVectoredForm) {
  const EngineInfo& engine = *FindEngine("io_uring");
  ParamValues params;
  for (const ParamSpec& param : engine.params) params.Set(param.name, param.default_text == "true");
  EXPECT_FALSE(engine.check(params));
  params.Set("nonvectored", false);
  ASSERT_TRUE(engine.check(params));
  EXPECT_NE(engine.check(params)->find("fixed_buffers = false"), std::string::npos);
  params.Set("fixed_buffers", false);
  EXPECT_FALSE(engine.check(params));
}

TEST(UringOptions, SqpollMovesTheIssueStampToTheRing) {
  const EngineInfo& engine = *FindEngine("io_uring");
  ParamValues params;
  for (const ParamSpec& param : engine.params) params.Set(param.name, param.default_text == "true");
  EXPECT_EQ(engine.issue(params).point, IssuePoint::kAfterSubmit);
  params.Set("sqpoll", true);
  EXPECT_EQ(engine.issue(params).point, IssuePoint::kAtEnqueue);
}

// Does nothing, until what was written is to be synchronised.
class FailingSync final : public Engine {
 public:
  Result<void> Open(const EngineOpenArgs&) override { return {}; }
  int Submit(std::span<const IoOp>) override { return 0; }
  int Reap(std::span<IoCompletion>, uint32_t, int64_t) override { return 0; }
  int Sync() override {
    syncs++;
    return -EIO;
  }
  int syncs = 0;
};

TEST(Engine, B33WhatThePageCacheCouldNotWriteIsAnErrorOfTheJob) {
  struct Case {
    Rw rw;
    bool direct;
    uint32_t outstanding;
    bool syncs;
  };
  for (const Case& each : {Case{Rw::kRandWrite, false, 0, true}, Case{Rw::kRw, false, 0, true},
                           Case{Rw::kRandWrite, true, 0, false}, Case{Rw::kRead, false, 0, false},
                           // It might wait for ever for what did not come back.
                           Case{Rw::kWrite, false, 1, false}}) {
    Queue queue;
    JobSpec spec;
    spec.rw = each.rw;
    spec.direct = each.direct;
    JobSetup setup;
    setup.plan = {&spec, 0, &queue, 1};
    setup.engine = FindEngine("psync");
    JobAccount account(setup.shape);
    FailingSync engine;
    const JobRecord record = RecordOf(setup, each.outstanding, &engine, &account);
    EXPECT_EQ(engine.syncs, each.syncs ? 1 : 0);
    EXPECT_EQ(record.errors, each.syncs ? (std::map<std::string, uint64_t>{{"sync EIO", 1}})
                                        : (std::map<std::string, uint64_t>{}));
  }
}

}  // namespace
}  // namespace blkfair
