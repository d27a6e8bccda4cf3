// Boots guests and looks at how they end: in order, by panic, by hang, by an interruption, and with
// their parent killed. Small kernels come from the folder BLKFAIR_TEST_KERNELS (stock.bzImage,
// ...).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "harness/guest/command.h"
#include "harness/guest/guest.h"
#include "harness/guest/module_set.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSecondNs = 1'000'000'000;

// Path of a small kernel, or empty when there are none here.
std::string SmallKernel(const std::string& name) {
  const char* folder = std::getenv("BLKFAIR_TEST_KERNELS");
  const std::string path =
      (folder != nullptr ? std::string(folder) : BLKFAIR_SOURCE_DIR "/../shared/kernels") + "/" +
      name + ".bzImage";
  return fs::exists(path) ? path : std::string();
}

class GuestBoot : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blkfair-boot-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (HasFailure()) {
      fs::rename(folder_, folder_ + ".kept");
      ADD_FAILURE() << "what the guest left is in " << folder_ << ".kept";
    } else {
      fs::remove_all(folder_);
    }
  }

  // Options for a boot of `asked` with its work folder `name`.
  GuestOptions Options(const std::string& asked, const std::string& name = "work") {
    GuestOptions options;
    const auto kernel = ResolveKernel(asked, [](const std::string&) {});
    EXPECT_TRUE(kernel) << kernel.error().message;
    if (kernel) options.kernel = *kernel;
    options.init_executable = BLKFAIR_GUEST_INIT;
    options.work_folder = folder_ + "/" + name;
    options.console_file = options.work_folder + "/console.log";
    fs::create_directories(options.work_folder);
    return options;
  }

  // The kernel for the cases in which any will do: the small one boots in a third of the time.
  std::string AnyKernel() {
    const std::string small = SmallKernel("stock");
    return small.empty() ? "debian:6.12" : small;
  }

  std::string folder_;
};

GuestCommand Shell(const std::string& script) {
  GuestCommand command;
  command.argv = {"/bin/sh", "-c", script};
  command.files = {{"/bin/sh", "/bin/sh"}};
  return command;
}

GuestCommandOutcome RunGuest(const GuestCommand& command, const GuestOptions& options) {
  auto outcome = RunCommandInGuest(command, options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *outcome : GuestCommandOutcome{};
}

// Prints /proc files whose content is a fingerprint of everything the guest did so far.
constexpr const char* kFingerprint =
    "while read -r line; do echo \"$line\"; done < /proc/interrupts;"
    "while read -r line; do echo \"$line\"; done < /proc/uptime;"
    "while read -r line; do echo \"$line\"; done < /proc/self/sched;"
    "read -r line < /proc/sys/kernel/random/uuid; echo $line";

TEST_F(GuestBoot, OutputAndStatusComeOut) {
  const auto outcome =
      RunGuest(Shell("echo to out; echo to err >&2; exit 7"), Options(AnyKernel()));
  EXPECT_EQ(outcome.end, BootEnd::kFinished) << outcome.why;
  EXPECT_EQ(outcome.status, "exit 7");
  EXPECT_EQ(outcome.output, "to out\nto err\n");
}

TEST_F(GuestBoot, LargeOutputComesOutWhole) {
  std::string expected;
  for (int i = 0; i < 20'000; ++i) expected += std::to_string(i) + "\n";
  const auto outcome = RunGuest(Shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done"),
                                Options(AnyKernel()));
  EXPECT_EQ(outcome.status, "exit 0") << outcome.why;
  EXPECT_TRUE(outcome.output == expected) << outcome.output.size() << " bytes came out";
}

TEST_F(GuestBoot, CrashIsReportedNotHung) {
  const auto outcome = RunGuest(Shell("echo before; kill -SEGV $$"), Options(AnyKernel()));
  EXPECT_EQ(outcome.end, BootEnd::kFinished) << outcome.why;
  EXPECT_EQ(outcome.status, "signal 11 (Segmentation fault)");
  EXPECT_EQ(outcome.output, "before\n");
}

TEST_F(GuestBoot, OutOfMemoryIsSaid) {
  GuestCommand command = Shell(
      "a=0123456789abcdef; while [ ${#a} -lt 8000000 ]; do a=$a$a; done;"
      "i=0; while :; do eval \"v$i=\\$a\"; i=$((i+1)); done");
  command.shape.memory_bytes = 256ull << 20;
  const auto outcome = RunGuest(command, Options(AnyKernel()));
  EXPECT_EQ(outcome.status,
            "signal 9 (Killed): the guest ran out of memory; guest.memory gives it more")
      << outcome.why;
}

TEST_F(GuestBoot, EverySmallKernelBoots) {
  if (SmallKernel("stock").empty()) GTEST_SKIP() << "BLKFAIR_TEST_KERNELS names no kernels";
  for (const char* name : {"stock", "nofair", "noacct"}) {
    const auto outcome = RunGuest(Shell("echo up"), Options(SmallKernel(name), name));
    EXPECT_EQ(outcome.output, "up\n") << name << ": " << outcome.why;
  }
}

// Loads null_blk from the image, with what it depends on.
GuestCommand LoadNullBlk() {
  const auto kmod = FindExecutable("kmod");
  EXPECT_TRUE(kmod) << kmod.error().message;
  GuestCommand command = Shell(
      "/sbin/modprobe null_blk nr_devices=3 && echo /sys/block/nullb* && echo "
      "/sys/kernel/config/*");
  if (kmod) command.files.push_back({*kmod, "/sbin/modprobe"});
  command.modules = {"null_blk", "no_such_module"};
  return command;
}
constexpr const char* kNullBlkLoaded =
    "/sys/block/nullb0 /sys/block/nullb1 /sys/block/nullb2\n/sys/kernel/config/nullb\n";

TEST_F(GuestBoot, DebianKernelLoadsItsModulesFromTheImage) {
  const auto outcome = RunGuest(LoadNullBlk(), Options("debian:6.12"));
  EXPECT_EQ(outcome.status, "exit 0") << outcome.why;
  EXPECT_EQ(outcome.output, kNullBlkLoaded);
}

TEST_F(GuestBoot, BuiltTreeBringsItsModules) {
  const Kernel debian = Options("debian:6.12").kernel;
  const std::string tree = folder_ + "/tree";
  fs::create_directories(tree + "/arch/x86/boot");
  fs::copy_file(debian.image, tree + "/arch/x86/boot/bzImage");
  const auto set = CollectModules(debian.modules_root, debian.release, {"null_blk"}, folder_);
  ASSERT_TRUE(set) << set.error().message;
  std::string order;
  for (const ModuleFile& module : set->modules) {
    const fs::path path = fs::path(tree) / module.path;
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(WriteWholeFile(path, module.content));
    order += fs::path(module.path).replace_extension(".o").string() + "\n";
  }
  ASSERT_TRUE(WriteWholeFile(tree + "/modules.order", order));
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  // This tree is gone in a moment: the user's cache shall not remember it.
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
  const GuestOptions options = Options(tree);
  before.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
  const auto outcome = RunGuest(LoadNullBlk(), options);
  EXPECT_EQ(outcome.output, kNullBlkLoaded) << outcome.why;
}

TEST_F(GuestBoot, TwiceTheSameIsTheSameBytes) {
  std::vector<std::string> frames;
  for (const char* name : {"one", "two"}) {
    const GuestOptions options = Options(AnyKernel(), name);
    const auto outcome = RunGuest(Shell(kFingerprint), options);
    ASSERT_EQ(outcome.status, "exit 0") << outcome.why;
    frames.push_back(ReadWholeFile(options.work_folder + "/results.frames").value_or(name));
    EXPECT_GT(outcome.output.size(), 1000u);
  }
  EXPECT_TRUE(frames[0] == frames[1]);
}

TEST_F(GuestBoot, RealTimeBootsToo) {
  GuestOptions options = Options(AnyKernel());
  options.time = GuestTime::kReal;
  EXPECT_EQ(RunGuest(Shell("echo up"), options).output, "up\n");
}

TEST_F(GuestBoot, PanicIsADeathWithTheConsolesLastLines) {
  // The pause lets init pass on what the shell said.
  const auto outcome =
      RunGuest(Shell("echo measured; i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done;"
                     "echo c > /proc/sysrq-trigger"),
               Options(AnyKernel()));
  EXPECT_EQ(outcome.end, BootEnd::kDied);
  EXPECT_TRUE(outcome.why.starts_with("[") &&
              outcome.why.find("Kernel panic - not syncing: sysrq "
                               "triggered crash\n  | ") != std::string::npos)
      << outcome.why;
  EXPECT_EQ(outcome.output, "measured\n");
}

TEST_F(GuestBoot, InitThatIsNoneIsADeathAtTheFirstBoot) {
  GuestOptions options = Options(AnyKernel());
  options.init_executable = "/bin/true";
  const auto outcome = RunGuest(Shell("echo up"), options);
  EXPECT_EQ(outcome.end, BootEnd::kDied);
  EXPECT_NE(outcome.why.find("Attempted to kill init"), std::string::npos) << outcome.why;
  EXPECT_FALSE(fs::exists(options.console_file + ".failed-1"));
}

TEST_F(GuestBoot, IdleHangEndsByTheGuestsOwnClock) {
  GuestCommand command = Shell("echo before; kill -STOP $$");
  command.limit_ns = 3600 * kSecondNs;
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = RunGuest(command, Options(AnyKernel()));
  EXPECT_EQ(outcome.end, BootEnd::kFinished) << outcome.why;
  EXPECT_EQ(outcome.status, "hang");
  EXPECT_EQ(outcome.output, "before\n");
  // An hour of idle virtual time is skipped, not waited for.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(5));
}

TEST_F(GuestBoot, BusyGuestIsStoppedAtItsLimit) {
  GuestOptions options = Options(AnyKernel());
  ImageSpec image;
  image.init_executable = options.init_executable;
  image.files = {{"/bin/sh", "/bin/sh"}};
  image.texts = {{"/command", "/bin/sh\n-c\necho before; while :; do :; done\n"},
                 {"/run.conf", "time=virtual\nlimit_ns=999000000000\n"}};
  BootOptions boot;
  boot.kernel = options.kernel;
  boot.initrd = options.work_folder + "/initrd.img";
  boot.work_folder = options.work_folder;
  boot.console_file = options.console_file;
  boot.limit_ns = 8 * kSecondNs;
  if (SmallKernel("stock").empty()) boot.limit_ns *= 3;
  ASSERT_TRUE(BuildImage(image, options.work_folder, boot.initrd));
  const BootOutcome outcome = BootGuest(boot);
  EXPECT_EQ(outcome.end, BootEnd::kDied);
  EXPECT_NE(outcome.why.find("time limit"), std::string::npos) << outcome.why;
  ASSERT_EQ(outcome.frames.size(), 1u);
  EXPECT_EQ(outcome.frames[0].text, "before\n");
}

TEST_F(GuestBoot, QemuThatRefusesIsNotTriedAgain) {
  GuestOptions options = Options(AnyKernel());
  GuestCommand command = Shell("echo up");
  command.shape.memory_bytes = 0;
  command.shape.vcpus = 100'000;
  const auto outcome = RunGuest(command, options);
  EXPECT_EQ(outcome.end, BootEnd::kNotStarted);
  EXPECT_NE(outcome.why.find("qemu-system-x86_64:"), std::string::npos) << outcome.why;
}

TEST_F(GuestBoot, InterruptionEndsItAndKeepsWhatCameOut) {
  GuestOptions options = Options(AnyKernel());
  const std::string frames = options.work_folder + "/results.frames";
  options.interrupted = [frames] { return ReadWholeFile(frames).value_or("").size() > 10; };
  const auto outcome = RunGuest(Shell("echo before; while :; do :; done"), options);
  EXPECT_EQ(outcome.end, BootEnd::kInterrupted);
  EXPECT_EQ(outcome.output, "before\n");
}

// Processes that have `word` on their command line.
int CountProcesses(const std::string& word) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto line = ReadWholeFile(entry.path().string() + "/cmdline");
    if (line && line->find(word) != std::string::npos) ++count;
  }
  return count;
}

TEST_F(GuestBoot, NoQemuOutlivesAKilledParent) {
  const GuestOptions options = Options(AnyKernel());
  const pid_t parent = ::fork();
  if (parent == 0) {
    static_cast<void>(RunCommandInGuest(Shell("while :; do :; done"), options));
    ::_exit(0);
  }
  const auto wait_for = [&](int wanted) {
    for (int i = 0; i < 1200 && CountProcesses(options.work_folder) != wanted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return CountProcesses(options.work_folder);
  };
  EXPECT_EQ(wait_for(1), 1);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_EQ(wait_for(0), 0);
}

}  // namespace
}  // namespace blkfair
