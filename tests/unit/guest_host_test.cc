// The host's side of a guest without booting one: kernel images, the cache, the initramfs, child
// processes, QEMU's arguments, and what the console says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "harness/guest/boot.h"
#include "harness/guest/cache.h"
#include "harness/guest/elf_libraries.h"
#include "harness/guest/image.h"
#include "harness/guest/kernel_image.h"
#include "harness/guest/process.h"
#include "harness/guest/qemu.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

// A folder of the test's own, gone at its end.
class GuestHost : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blkfair-guest-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(WriteWholeFile(path, text));
    return path;
  }

  std::string folder_;
};

// A setup header as boot.rst lays it out, with the version text at `at` (from 0x200).
std::string KernelHead(const std::string& version, uint16_t at) {
  std::string head(0x200 + at, '\0');
  head.replace(0x202, 4, "HdrS");
  head[0x20e] = static_cast<char>(at & 0xff);
  head[0x20f] = static_cast<char>(at >> 8);
  return head + version + std::string(1, '\0') + "more";
}

TEST(KernelImage, TellsItsRelease) {
  const auto facts =
      ParseKernelImage(KernelHead("6.12.117+deb12-amd64 (x@y) #1 SMP", 0x3a80), "vmlinuz");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->release, "6.12.117+deb12-amd64");
  EXPECT_EQ(facts->version, "6.12.117+deb12-amd64 (x@y) #1 SMP");
}

TEST(KernelImage, RefusesOtherFilesByName) {
  std::string bad_magic = KernelHead("6.1", 0x300);
  bad_magic[0x202] = 'h';
  std::string cut = KernelHead("6.12.1-a", 0x300);
  cut.resize(0x200 + 0x300 + 4);
  for (const std::string& head : {std::string(),
                                  std::string("\x7f"
                                              "ELF"),
                                  bad_magic, cut, KernelHead("6.1", 0x300).substr(0, 0x20f)}) {
    const auto facts = ParseKernelImage(head, "some/file");
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().kind, ErrorKind::kUsage);
    EXPECT_NE(facts.error().message.find("some/file"), std::string::npos);
  }
}

TEST(ResolveKernelWords, UnknownOnesAreAUsageErrorThatSaysWhatThereIs) {
  for (const char* asked : {"debian:99", "no-such-file", "/"}) {
    const auto kernel = ResolveKernel(asked, [](const std::string&) { FAIL(); });
    ASSERT_FALSE(kernel) << asked;
    EXPECT_EQ(kernel.error().kind, ErrorKind::kUsage) << asked;
    EXPECT_NE(kernel.error().message.find(asked), std::string::npos);
  }
}

TEST_F(GuestHost, BuiltTreeWithoutModulesIsAKernel) {
  fs::create_directories(folder_ + "/arch/x86/boot");
  Write("arch/x86/boot/bzImage", KernelHead("7.9.0-rc1 (me)", 0x300));
  Write(".config", "CONFIG_X=y\n");
  const auto kernel = ResolveKernel(folder_, [](const std::string&) {});
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->release, "7.9.0-rc1");
  EXPECT_EQ(kernel->modules_root, "");
  EXPECT_EQ(fs::path(kernel->config_file).filename(), ".config");
}

TEST_F(GuestHost, ImageWithoutItsModulesIsToldFromAKernelWithoutTheDriver) {
  const std::string missing =
      "fixture pair needs null_blk: this kernel has none, nor a module of it";
  const auto nothing = [](const std::string&) {};
  const auto image = ResolveKernel(Write("vmlinuz", KernelHead("6.1.0-1 (me)", 0x300)), nothing);
  ASSERT_TRUE(image) << image.error().message;
  const std::string why = ExplainUnmet(*image, missing);
  for (const char* part : {"image without its modules", "debian:6.12", missing.c_str()}) {
    EXPECT_NE(why.find(part), std::string::npos) << why;
  }
  EXPECT_EQ(ExplainUnmet(*image, "io_uring is switched off"), "io_uring is switched off");

  fs::create_directories(folder_ + "/arch/x86/boot");
  Write("arch/x86/boot/bzImage", KernelHead("7.9.0-rc1 (me)", 0x300));
  const auto tree = ResolveKernel(folder_, nothing);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(ExplainUnmet(*tree, missing), missing);
}

TEST_F(GuestHost, CachedFolderIsFilledOnceByManyAtOnce) {
  std::atomic<int> fills = 0;
  std::atomic<int> good = 0;
  const auto ask = [&] {
    const auto folder = CachedFolder(folder_, "a/b", [&](const std::string& partial) {
      ++fills;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return WriteWholeFile(partial + "/x", "whole");
    });
    if (folder && ReadWholeFile(*folder + "/x").value_or("") == "whole") ++good;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(ask);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(good, 8);
}

TEST_F(GuestHost, CachedFolderDoesNotAppearWhenFillingFails) {
  const auto failed = CachedFolder(folder_, "a", [](const std::string& partial) -> Result<void> {
    EXPECT_TRUE(WriteWholeFile(partial + "/x", "half"));
    return Fail(ErrorKind::kKernel, "the network is gone");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the network is gone");
  EXPECT_FALSE(fs::exists(folder_ + "/a"));
  EXPECT_FALSE(fs::exists(folder_ + "/a.partial"));
}

TEST_F(GuestHost, CachedFolderIsNotWaitedForOnceInterrupted) {
  const auto lock = OpenFile(folder_ + "/a.lock", O_RDWR | O_CREAT);  // as another process would
  ASSERT_TRUE(lock);
  ASSERT_EQ(::flock(lock->get(), LOCK_EX), 0);
  int asked = 0;
  const auto folder = CachedFolder(
      folder_, "a", [](const std::string&) -> Result<void> { return {}; },
      [&] { return ++asked == 3; });
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(asked, 3);
}

TEST_F(GuestHost, CachedFolderStartsAfreshAfterAKill) {
  fs::create_directories(folder_ + "/a.partial");
  Write("a.partial/x", "half");
  const auto folder = CachedFolder(folder_, "a", [](const std::string& partial) -> Result<void> {
    EXPECT_TRUE(fs::is_empty(partial));
    return {};
  });
  ASSERT_TRUE(folder) << folder.error().message;
}

TEST_F(GuestHost, ImageOfTheSameInputIsTheSameBytes) {
  ImageSpec spec;
  spec.init_executable = "/bin/sh";
  spec.texts = {{"/scenario.toml", "name = 'x'\n"}, {"/run.conf", "time=virtual\n"}};
  spec.files = {{Write("data", "1234"), "/data/file"}};
  ASSERT_TRUE(BuildImage(spec, folder_, folder_ + "/one"));
  // Another time, another owner of the inputs' inodes: nothing of that may show.
  fs::last_write_time(folder_ + "/data", fs::file_time_type::clock::now() - std::chrono::hours(9));
  std::reverse(spec.texts.begin(), spec.texts.end());
  ASSERT_TRUE(BuildImage(spec, folder_, folder_ + "/two"));
  const auto one = ReadWholeFile(folder_ + "/one");
  const auto two = ReadWholeFile(folder_ + "/two");
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(*one == *two);
  EXPECT_NE(one->find("ld-linux"), std::string::npos);
  EXPECT_NE(one->find("data/file"), std::string::npos);
  spec.texts[0].second += "x";
  ASSERT_TRUE(BuildImage(spec, folder_, folder_ + "/three"));
  EXPECT_FALSE(*one == ReadWholeFile(folder_ + "/three").value_or(""));
}

TEST_F(GuestHost, ImageNamesTheFileThatIsMissing) {
  ImageSpec spec;
  spec.init_executable = folder_ + "/nothing-here";
  const auto built = BuildImage(spec, folder_, folder_ + "/image");
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message.find("nothing-here"), std::string::npos);
}

TEST(SharedLibraries, OfAProgramHoldTheLoaderAndTheCLibrary) {
  const auto libraries = SharedLibrariesOf("/bin/sh");
  ASSERT_TRUE(libraries) << libraries.error().message;
  const auto has = [&](const std::string& part) {
    return std::any_of(libraries->begin(), libraries->end(), [&](const std::string& path) {
      return path.starts_with('/') && path.find(part) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("/ld-linux"));
  EXPECT_TRUE(has("/libc.so"));
  EXPECT_FALSE(has("vdso"));
}

TEST(Process, FailureCarriesTheLastLineOfTheError) {
  const auto run =
      RunProgram({"sh", "-c", "echo out; echo first >&2; echo why >&2; exit 3"}, "try");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "try: why");
}

TEST(Process, MissingProgramIsUnmetAndNamed) {
  const auto run = RunProgram({"no-such-program-here"}, "try");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(run.error().message.find("no-such-program-here"), std::string::npos);
}

TEST(Process, UnexecutableFileIsToldAtOnce) {
  const auto child = ChildProcess::Spawn({.argv = {"/dev/null"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().os_errno, EACCES);
}

TEST(Process, InheritsNoDescriptors) {
  const int leaky = ::dup(STDERR_FILENO);  // without O_CLOEXEC, as a library might
  ASSERT_GE(leaky, 3);
  const UniqueFd owner(leaky);
  const auto list = RunProgram({"ls", "/proc/self/fd"}, "list");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(*list, "0\n1\n2\n3\n");  // 3 is the folder being listed
}

TEST(Process, IsGoneWhenItsOwnerIsGone) {
  pid_t pid = 0;
  {
    auto child = ChildProcess::Spawn({.argv = {"sleep", "1000"}});
    ASSERT_TRUE(child) << child.error().message;
    pid = child->pid();
    EXPECT_EQ(child->Wait(0), std::nullopt);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

// Init may take a moment to reap a process; a zombie is dead too.
bool IsSoonDead(pid_t pid) {
  const std::string stat = "/proc/" + std::to_string(pid) + "/stat";
  for (int i = 0; i < 100; ++i) {
    const auto text = ReadWholeFile(stat);
    if (!text || text->find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST_F(GuestHost, InterruptedProgramDiesWithAllThatItStarted) {
  // The second one has closed its output, and is waited for in another way.
  for (const char* before : {"", "exec >&- 2>&-; "}) {
    const std::string pid_file = folder_ + "/pid";
    fs::remove(pid_file);
    std::optional<std::chrono::steady_clock::time_point> interrupted;
    const std::string script =
        std::string(before) + "sleep 1000 & echo $! > \"$0.new\"; mv \"$0.new\" \"$0\"; wait";
    const auto run = RunProgram({"sh", "-c", script, pid_file}, "try", [&] {
      if (!interrupted && fs::exists(pid_file)) interrupted = std::chrono::steady_clock::now();
      return interrupted.has_value();
    });
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().kind, ErrorKind::kInterrupted);
    EXPECT_EQ(run.error().message, "try: interrupted");
    EXPECT_LT(std::chrono::steady_clock::now() - *interrupted, std::chrono::seconds(1));
    EXPECT_TRUE(IsSoonDead(std::stoi(ReadWholeFile(pid_file).value_or("0"))));
  }
}

TEST(Process, DiesWhenItsParentIsKilled) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto child = ChildProcess::Spawn({.argv = {"sleep", "1000"}, .own_group = true});
    const pid_t pid = child ? child->pid() : -1;
    static_cast<void>(!::write(writer.get(), &pid, sizeof pid));
    ::pause();
  }
  pid_t pid = 0;
  ASSERT_EQ(::read(reader.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, 0), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(IsSoonDead(pid));
}

std::string Joined(const QemuSpec& spec) {
  std::string text;
  for (const std::string& word : QemuArguments(spec)) text += word + " ";
  return text;
}

TEST(Qemu, VirtualTimeTakesNothingFromTheHost) {
  QemuSpec spec;
  spec.kernel_image = "k";
  spec.initrd = "i";
  spec.console_file = "odd,name";
  spec.results_file = "r";
  spec.boot_words = {"null_blk.nr_devices=0"};
  const std::string text = Joined(spec);
  for (const char* word :
       {"-nodefaults ", "-no-user-config ", "-smp 1 ", "-m 1024 ", "tcg,thread=single",
        "shift=3,sleep=off,rr=record", "base=2024-01-01,clock=vm", "-seed 1 ", "file:odd,,name ",
        "file:r ", "nokaslr", "tsc=reliable", "mitigations=off", "panic=-1",
        "null_blk.nr_devices=0"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(text.find("kvm"), std::string::npos);
}

TEST(Qemu, DevicesOfItsOwnAreNotRecorded) {
  QemuSpec spec;
  spec.device_arguments = {"-device", "nvme,serial=x"};
  EXPECT_NE(Joined(spec).find("-icount shift=3,sleep=off "), std::string::npos);
  EXPECT_NE(Joined(spec).find("-device nvme,serial=x "), std::string::npos);
}

TEST(Qemu, SeveralCpusAreNotRecorded) {
  QemuSpec spec;
  spec.shape.vcpus = 2;
  EXPECT_NE(Joined(spec).find("-icount shift=3,sleep=off "), std::string::npos);
  EXPECT_NE(Joined(spec).find("-smp 2 "), std::string::npos);
}

TEST(Qemu, RealTimeIsNotCounted) {
  QemuSpec spec;
  spec.time = GuestTime::kReal;
  spec.shape = {.vcpus = 3, .memory_bytes = uint64_t{256} << 20};
  EXPECT_EQ(Joined(spec).find("icount"), std::string::npos);
  EXPECT_NE(Joined(spec).find("-smp 3 -m 256 "), std::string::npos);
  EXPECT_NE(Joined(spec).find("-accel tcg "), std::string::npos);
  spec.kvm = true;
  EXPECT_NE(Joined(spec).find("-cpu host "), std::string::npos);
  EXPECT_NE(Joined(spec).find("-accel kvm "), std::string::npos);
}

TEST(Qemu, KvmIsNotTrustedOnACpuThatDoesNotVirtualise) {
  EXPECT_TRUE(CpuVirtualises("processor\t: 0\nflags\t\t: fpu vmx lm\n"));
  EXPECT_TRUE(CpuVirtualises("flags\t\t: fpu lm svm\nbugs\t\t: sysret_ss_attrs\n"));
  EXPECT_FALSE(CpuVirtualises("flags\t\t: fpu lm hypervisor svm_lock avmx\nbugs\t\t: vmx svm\n"));
  EXPECT_FALSE(CpuVirtualises(""));
}

TEST(Console, ProgressLinesAreRead) {
  RunProgress progress;
  ASSERT_TRUE(ParseProgressLine("blkfair: at 2/3 1500/2000 solo light", &progress));
  EXPECT_EQ(progress.phase_index, 2u);
  EXPECT_EQ(progress.phase_count, 3u);
  EXPECT_EQ(progress.elapsed_ns, 1'500'000'000);
  EXPECT_EQ(progress.length_ns, 2'000'000'000);
  EXPECT_EQ(progress.phase, "solo light");
  for (const char* line : {"blkfair: init", "blkfair: at ", "blkfair: at 1/2",
                           "blkfair: at 1/2 3/4", "blkfair: at x/2 3/4 p", "at 1/2 3/4 p"}) {
    EXPECT_FALSE(ParseProgressLine(line, &progress)) << line;
  }
}

TEST(Console, TroubleIsSeen) {
  EXPECT_EQ(ReadConsoleLine("[    1.0] Kernel panic - not syncing: sysrq triggered crash"),
            ConsoleSign::kPanic);
  EXPECT_EQ(ReadConsoleLine("[    1.0] BUG: kernel NULL pointer dereference, address: 0"),
            ConsoleSign::kComplaint);
  EXPECT_EQ(ReadConsoleLine("[   30.0] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!"),
            ConsoleSign::kComplaint);
  EXPECT_EQ(ReadConsoleLine("[  240.0] INFO: task x:1 blocked for more than 120 seconds."),
            ConsoleSign::kComplaint);
  EXPECT_EQ(ReadConsoleLine("blkfair: init"), ConsoleSign::kAlive);
  EXPECT_EQ(ReadConsoleLine("[    2.1] reboot: Restarting system"), ConsoleSign::kNothing);
}

}  // namespace
}  // namespace blkfair
