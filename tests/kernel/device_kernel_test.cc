// Devices and files that blkfair did not make, through the host executor inside a guest: what it
// reads, what it refuses and how it says so, and that nothing is written without both permissions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "harness/guest/command.h"
#include "harness/guest/guest.h"
#include "harness/guest/process.h"

namespace blkfair {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScenario = R"(
name = "foreign"
situation = "One job on somebody else's device."
expectation = "It reads."
why = "Safety."
contention = "any"

[[fixture]]
name = "disk"
KIND

[[job]]
name = "reader"
queue = "disk:0"
engine = "psync"
rw = "RW"

[[phase]]
name = "alone"
jobs = ["reader"]
ramp = "10ms"
runtime = "300ms"

[[assert]]
kind = "bound"
phase = "alone"
job = "reader"
metric = "iops"
min = 1
)";

std::string Scenario(const std::string& kind, const std::string& rw) {
  std::string text = kScenario;
  text.replace(text.find("KIND"), 4, kind);
  text.replace(text.find("RW"), 2, rw);
  return text;
}

class Foreign : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/blkfair-foreign-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    AddFile("/bin/sh", "/bin/sh");
    AddFile(BLKFAIR_EXECUTABLE, "/bin/blkfair");
    for (const char* program : {"cat", "dmsetup", "kmod", "losetup", "ls", "mke2fs", "mkdir",
                                "mkswap", "mount", "swapoff", "swapon", "truncate", "umount"}) {
      const auto path = FindExecutable(program);
      if (!path) GTEST_SKIP() << path.error().message;
      AddFile(*path,
              std::string("/bin/") + (program == std::string("kmod") ? "modprobe" : program));
    }
    command_.limit_ns = 300'000'000'000;
    command_.modules = {"configfs", "dm_mod", "ext4", "loop", "nvme", "virtio_blk", "virtio_pci"};
  }
  void TearDown() override { fs::remove_all(folder_); }

  void AddFile(const std::string& from, const std::string& to) {
    command_.files.push_back({from, to});
  }
  void AddScenario(const std::string& name, const std::string& kind, const std::string& rw) {
    const std::string path = folder_ + "/" + name;
    ASSERT_TRUE(WriteWholeFile(path, Scenario(kind, rw)));
    AddFile(path, "/" + name + ".toml");
  }
  // A virtio disk with this serial number; its one partition begins at 1 MiB.
  void AddDisk(const std::string& serial) {
    std::string sector(512, '\0');
    const unsigned char entry[] = {0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0xf0, 1, 0};
    std::copy(std::begin(entry), std::end(entry), sector.begin() + 446);
    sector[510] = '\x55';
    sector[511] = '\xaa';
    const std::string image = folder_ + "/" + serial + ".img";
    ASSERT_TRUE(WriteWholeFile(image, sector));
    fs::resize_file(image, 64 << 20);
    AddQemu({"-blockdev", "driver=file,node-name=" + serial + ",filename=" + image, "-device",
             "virtio-blk-pci,drive=" + serial + ",serial=" + serial});
  }
  void AddQemu(const std::vector<std::string>& words) {
    command_.qemu_arguments.insert(command_.qemu_arguments.end(), words.begin(), words.end());
  }

  // The output of `script`, in which `check NAME ARGUMENTS...` runs a scenario and says how it
  // ended, as "NAME exit N".
  std::string Run(const std::string& script) {
    GuestOptions options;
    const auto kernel = ResolveKernel("debian:6.12", [](const std::string&) {});
    EXPECT_TRUE(kernel) << kernel.error().message;
    if (!kernel) return {};
    options.kernel = *kernel;
    // The disks are served by threads of the host, for which virtual time does not wait.
    options.time = GuestTime::kReal;
    options.init_executable = BLKFAIR_GUEST_INIT;
    options.work_folder = folder_;
    options.console_file = folder_ + "/console.log";
    command_.argv = {"/bin/sh", "-c",
                     "export HOME=/ PATH=/bin; cd /tmp;"
                     "check() { name=$1; shift;"
                     " blkfair run --on host -q --force --out /tmp/out \"$@\" 2>&1;"
                     " echo \"$name: exit $?\"; };" +
                         script};
    const auto outcome = RunCommandInGuest(command_, options);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) return {};
    EXPECT_EQ(outcome->status, "exit 0") << outcome->why << outcome->output;
    return outcome->output;
  }

  GuestCommand command_;
  std::string folder_;
};

void ExpectIn(const std::string& output, const std::string& text) {
  EXPECT_NE(output.find(text), std::string::npos) << "'" << text << "' is not in\n" << output;
}

constexpr const char* kVirtio = "modprobe virtio_pci; modprobe virtio_blk;";

TEST_F(Foreign, B46DisksInUseAreRefusedAlways) {
  AddDisk("first");
  AddDisk("second");
  AddScenario("a", "kind = 'device'\npaths = ['/dev/vda']", "randread");
  AddScenario("b", "kind = 'device'\npaths = ['/dev/vdb']", "randread");
  AddScenario("b1", "kind = 'device'\npaths = ['/dev/vdb1']\ndestroy_data = true", "randwrite");
  AddScenario("typo", "kind = 'device'\npaths = ['/dev/nvme9n11']\ndestroy_data = true",
              "randwrite");
  const std::string output = Run(
      std::string(kVirtio) +
      "check free /a.toml;"
      "modprobe dm_mod; modprobe ext4; modprobe loop;"
      "mke2fs -q /dev/vdb1; mkdir /mnt; mount -t ext4 /dev/vdb1 /mnt;"
      "check parent /b.toml; check mounted /b1.toml --destroy second --destroy /dev/vdb1;"
      "umount /mnt; mkswap -q /dev/vdb1; swapon /dev/vdb1; check swap /b.toml; swapoff /dev/vdb1;"
      "losetup /dev/loop0 /dev/vda; check loop /a.toml; losetup -d /dev/loop0;"
      "dmsetup create --noudevsync held --table '0 1000 linear /dev/vda 0';"
      "check held /a.toml; dmsetup remove --noudevsync held; check free_again /a.toml;"
      "check typo /typo.toml --destroy /dev/nvme9n11; ls /dev/nvme9n11; true");
  ExpectIn(output, "free: exit 0");
  ExpectIn(output, "may not use /dev/vdb: its partition vdb1 is mounted on /mnt");
  ExpectIn(output, "parent: exit 3");
  ExpectIn(output, "may not use /dev/vdb1: it is mounted on /mnt");
  ExpectIn(output, "mounted: exit 3");
  ExpectIn(output, "may not use /dev/vdb: its partition vdb1 is a swap area");
  ExpectIn(output, "swap: exit 3");
  ExpectIn(output, "may not use /dev/vda: it is what loop0 is made of");
  ExpectIn(output, "loop: exit 3");
  ExpectIn(output, "may not use /dev/vda: it is held by dm-0");
  ExpectIn(output, "held: exit 3");
  ExpectIn(output, "free_again: exit 0");
  ExpectIn(output, "may not use /dev/nvme9n11: there is no such device or file");
  ExpectIn(output, "typo: exit 3");
  ExpectIn(output, "ls: cannot access '/dev/nvme9n11'");
}

TEST_F(Foreign, WritesNeedBothPermissions) {
  AddDisk("first");
  const std::string device = "kind = 'device'\npaths = ['/dev/vda']";
  AddScenario("plain", device, "randwrite");
  AddScenario("destroy", device + "\ndestroy_data = true", "randwrite");
  const std::string output =
      Run(std::string(kVirtio) +
          "check neither /plain.toml; check line_only /plain.toml --destroy first;"
          "check scenario_only /destroy.toml; check another /destroy.toml --destroy second;"
          "check serial /destroy.toml --destroy first;"
          "check path /destroy.toml --destroy /dev/vda");
  ExpectIn(output, "job reader writes to disk:0, which blkfair did not make");
  ExpectIn(output, "neither: exit 2");
  ExpectIn(output, "line_only: exit 2");
  ExpectIn(output, "fixture disk has destroy_data = true: say on the command line");
  ExpectIn(output, "scenario_only: exit 2");
  ExpectIn(output, "does not say --destroy /dev/vda or --destroy first");
  ExpectIn(output, "another: exit 3");
  ExpectIn(output, "serial: exit 0");
  ExpectIn(output, "path: exit 0");
}

TEST_F(Foreign, B20LoopDevicesAndFilesWhoseNamesHoldColons) {
  AddScenario("loop", "kind = 'device'\npaths = ['/dev/loop0']", "randread");
  AddScenario("file", "kind = 'device'\npaths = ['/f/pci-0000:01:00.0-nvme-1']", "randread");
  const std::string output = Run(
      "modprobe ext4; modprobe loop; mkdir /f; truncate -s 64M /tmp/back; mke2fs -q /tmp/back;"
      "mount -t ext4 -o loop /tmp/back /f || exit 1; truncate -s 1M '/f/pci-0000:01:00.0-nvme-1';"
      "check file /file.toml; check mounted /loop.toml; ls /f; umount /f;"
      "losetup /dev/loop0 /tmp/back; check loop /loop.toml");
  ExpectIn(output, "file: exit 0");
  ExpectIn(output, "may not use /dev/loop0: it is mounted on /f");
  ExpectIn(output, "mounted: exit 3");
  ExpectIn(output, "\nlost+found\npci-0000:01:00.0-nvme-1\n");
  ExpectIn(output, "loop: exit 0");
}

TEST_F(Foreign, J14NvmeNamespacesBySerialAndPath) {
  AddQemu({"-device", "nvme,id=n,serial=REAL:1", "-blockdev",
           "driver=null-co,node-name=d1,size=67108864,read-zeroes=on", "-device",
           "nvme-ns,drive=d1,bus=n,nsid=7"});
  AddScenario("serial", "kind = 'nvme'\nnamespaces = ['REAL:1:7']", "randread");
  AddScenario("path", "kind = 'nvme'\nnamespaces = ['/dev/nvme0n1']", "randread");
  AddScenario("other", "kind = 'nvme'\nnamespaces = ['REAL:1:8']", "randread");
  AddScenario("write", "kind = 'nvme'\nnamespaces = ['REAL:1:7']\ndestroy_data = true",
              "randwrite");
  const std::string output =
      Run("modprobe nvme; until test -e /dev/nvme0n1; do :; done;"
          "check serial /serial.toml; check path /path.toml; check other /other.toml;"
          "check unnamed /write.toml --destroy OTHER; check write /write.toml --destroy REAL:1");
  ExpectIn(output, "lba_formats=512+0*");
  ExpectIn(output, "nsid=7");
  ExpectIn(output, "serial: exit 0");
  ExpectIn(output, "path: exit 0");
  ExpectIn(output, "needs namespace 8 of the NVMe controller with serial REAL:1");
  ExpectIn(output, "other: exit 77");
  ExpectIn(output, "unnamed: exit 3");
  ExpectIn(output, "write: exit 0");
}

// The other way round: what blkfair made itself, on the host's own kernel.
TEST_F(Foreign, TheTargetOfNvmeLoopIsTakenDownInOrderAndAfterAKill) {
  AddScenario("loop", "kind = 'nvme_loop'\nservice_time = '20ms'", "randread");
  AddFile("/bin/sleep", "/bin/sleep");
  command_.modules.insert(command_.modules.end(), {"null_blk", "nvme-loop"});
  const std::string left =
      "echo \"left: $(ls /sys/kernel/config/nvmet/subsystems /sys/kernel/config/nvmet/ports "
      "/sys/kernel/config/nullb /sys/class/nvme /.local/state/blkfair/journals 2> /dev/null)\" "
      "$(ls -d /sys/module/nvme_loop /sys/module/nvmet /sys/module/null_blk 2> /dev/null);";
  const std::string output =
      Run("check whole /loop.toml;" + left +
          "blkfair run --on host -q --force --out /tmp/out /loop.toml --set phase.alone.runtime=60s"
          " & pid=$!; until ls -d /sys/class/nvme/nvme*; do sleep 0.1; done; sleep 1; kill -9 $pid;"
          "wait; echo \"during: $(ls /sys/kernel/config/nvmet/subsystems)\"; blkfair clean;" +
          left + "blkfair clean");
  ExpectIn(output, "whole: exit 0");
  ExpectIn(output, "during: bf-disk");
  // Of all these folders only that of the journals is still there, and it is empty.
  const std::string nothing = "left: /.local/state/blkfair/journals:\n";
  const size_t first = output.find(nothing);
  ASSERT_NE(first, std::string::npos) << output;
  EXPECT_NE(output.find(nothing, first + 1), std::string::npos) << output;
  ExpectIn(output, "0 journals undone");
}

}  // namespace
}  // namespace blkfair
