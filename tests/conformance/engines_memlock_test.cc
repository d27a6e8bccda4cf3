// Registered buffers that the limit on locked memory does not allow: told, never dropped.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "engines/engine_table.h"
#include "harness/run/job_setup.h"
#include "harness/run/thread_executor.h"

namespace blkfair {
namespace {

// In a process without CAP_IPC_LOCK and with 64 KiB to lock: opens io_uring with 1 MiB of buffers.
int OpenUnderTheLimit(bool fixed_buffers) {
  const rlimit limit = {64 * 1024, 64 * 1024};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 10;
  if (::getuid() == 0 && ::setuid(65534) != 0) return 11;
  Queue queue;
  queue.kind = QueueKind::kChar;
  queue.path = "/dev/zero";
  JobSpec spec;
  spec.iodepth = 256;
  spec.direct = false;
  for (const ParamSpec& param : FindEngine("io_uring")->params) {
    spec.engine_params.Set(param.name, param.default_text == "true");
  }
  spec.engine_params.Set("fixed_buffers", fixed_buffers);
  auto buffers = IoBuffers::Take(256, 4096);
  if (!buffers) return 12;
  JobSetup setup;
  setup.plan = {&spec, 0, &queue, 1};
  const auto engine = FindEngine("io_uring")->create({spec.engine_params});
  const auto opened = engine->Open(OpenArgsOf(setup, *buffers, nullptr));
  if (opened) return 0;
  std::fprintf(stderr, "%s\n", opened.error().message.c_str());
  return opened.error().kind == ErrorKind::kUnmet ? 1 : 2;
}

// The same for a phase of two clones, before either has started.
int RunUnderTheLimit() {
  const rlimit limit = {64 * 1024, 64 * 1024};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 10;
  if (::getuid() == 0 && ::setuid(65534) != 0) return 11;
  Queue queue;
  queue.kind = QueueKind::kChar;
  queue.path = "/dev/zero";
  JobSpec spec;
  spec.engine = "io_uring";
  spec.iodepth = 256;
  spec.bs_bytes = 6 * 1024;  // two pages each
  spec.size_bytes = 1 << 20;
  spec.direct = false;
  for (const ParamSpec& param : FindEngine("io_uring")->params) {
    spec.engine_params.Set(param.name, param.default_text == "true");
  }
  PhasePlan plan;
  plan.runtime_ns = 1'000'000;
  plan.jobs = {{&spec, 0, &queue, 1}, {&spec, 1, &queue, 2}};
  const KernelFs fs(KernelRoots::Real());
  const auto result = ThreadExecutor(&fs).RunPhase(plan, {});
  if (result) return 0;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  return result.error().kind == ErrorKind::kUnmet ? 1 : 2;
}

TEST(UringMemlock, B28ShortageIsFoundBeforeAnyJobStarts) {
  EXPECT_EXIT(::_exit(RunUnderTheLimit()), ::testing::ExitedWithCode(1),
              "registering the 512 buffers of this phase needs 4096 KiB of locked memory, "
              "RLIMIT_MEMLOCK is 64 KiB");
}

// A huge page counts whole, however little of it is used; few small transfers do without.
TEST(UringMemlock, WhatIsLockedIncludesTheRestOfHugePages) {
  constexpr size_t kMiB = size_t{1} << 20;
  EXPECT_EQ(IoBuffers::MemoryOf(1, 512), 4096U);
  EXPECT_EQ(IoBuffers::MemoryOf(63, 4096), 63U * 4096);
  EXPECT_EQ(IoBuffers::MemoryOf(64, 4096), 2 * kMiB);
  EXPECT_EQ(IoBuffers::MemoryOf(520, 4096), 2 * kMiB + 8U * 4096);
  EXPECT_EQ(IoBuffers::MemoryOf(256, 128 * 1024), 32 * kMiB);
  for (const uint32_t iodepth : {1U, 64U, 520U}) {
    auto buffers = IoBuffers::Take(iodepth, 4096);
    ASSERT_TRUE(buffers);
    EXPECT_EQ(buffers->bytes().size(), iodepth * size_t{4096});
    const auto start = reinterpret_cast<uintptr_t>(buffers->bytes().data());
    EXPECT_EQ(start % (iodepth == 1 ? 4096 : 2 * kMiB), 0U);
    buffers->Fill(1);
  }
}

TEST(UringMemlock, B28ShortageIsToldWithNeedAndLimit) {
  if (const auto usable = FindEngine("io_uring")->probe(); !usable) {
    GTEST_SKIP() << usable.error().message;
  }
  EXPECT_EXIT(
      ::_exit(OpenUnderTheLimit(true)), ::testing::ExitedWithCode(1),
      "the buffers of 256 I/Os needs at least 1024 KiB of locked memory, RLIMIT_MEMLOCK is 64 KiB");
  EXPECT_EXIT(::_exit(OpenUnderTheLimit(false)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace blkfair
