// When a kernel that has just booted counts as at rest.
#include "harness/measure/boot_work.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace blkfair {
namespace {

constexpr int64_t kMs = 1'000'000;

// A machine of one CPU that is busy for so many of each ten ticks, one entry per half second.
class Machine : public KernelFs {
 public:
  explicit Machine(std::vector<uint64_t> busy) : KernelFs(KernelRoots::Real()), busy_(busy) {}

  Result<std::string> Read(const std::string& path) const override {
    EXPECT_EQ(path, "/proc/stat");
    if (gone) return Fail(ErrorKind::kKernel, "no /proc/stat");
    return "cpu  7 1 " + std::to_string(busy_ticks_) + " " + std::to_string(idle_ticks_) +
           " 3 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\n";
  }

  void Sleep(int64_t ns) {
    const uint64_t ticks = static_cast<uint64_t>(ns / (10 * kMs));
    const uint64_t busy = busy_[std::min(slept_++, busy_.size() - 1)] * ticks / 100;
    busy_ticks_ += busy;
    idle_ticks_ += ticks - busy;
  }

  std::optional<BootWork> Wait(int64_t limit_ms) {
    return WaitForBootWork(*this, limit_ms * kMs, [this](int64_t ns) { Sleep(ns); });
  }

  bool gone = false;

 private:
  std::vector<uint64_t> busy_;  // per cent, in each step
  size_t slept_ = 0;
  uint64_t busy_ticks_ = 100;
  uint64_t idle_ticks_ = 20;
};

TEST(BootWork, IsOverWhenTheCpusAreIdle) {
  const auto work = Machine({100, 100, 60, 2}).Wait(30'000);
  ASSERT_TRUE(work);
  EXPECT_TRUE(work->ended);
  EXPECT_EQ(work->waited_ns, 2000 * kMs);
}

TEST(BootWork, IsNotWaitedForWithoutEnd) {
  const auto work = Machine({6}).Wait(3'000);
  ASSERT_TRUE(work);
  EXPECT_FALSE(work->ended);
  EXPECT_EQ(work->waited_ns, 3'000 * kMs);
}

TEST(BootWork, ALimitOfNothingDoesNotWait) {
  const auto work = Machine({100}).Wait(0);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->waited_ns, 0);
}

TEST(BootWork, IsUnknownWhereNothingTells) {
  Machine machine({0});
  machine.gone = true;
  EXPECT_FALSE(machine.Wait(3'000));
}

}  // namespace
}  // namespace blkfair
