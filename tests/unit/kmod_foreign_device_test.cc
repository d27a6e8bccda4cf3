// Why devices of others are left alone: on a fake /sys and /proc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "kmod_setup/foreign_device.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

class ForeignDeviceTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(WriteWholeFile(path, text));
  }
  std::string Class(const std::string& name) const {
    return fs_.roots().sys + "/class/block/" + name;
  }
  // sda with a partition sda1.
  void AddDisk() {
    Put(Class("sda") + "/dev", "8:0\n");
    Put(Class("sda") + "/sda1/partition", "1\n");
    Put(Class("sda") + "/queue/scheduler", "none\n");
    Put(Class("sda1") + "/dev", "8:1\n");
    Put(Class("sda1") + "/partition", "1\n");
  }
  void Mount(const std::string& number, const std::string& source, const std::string& where) {
    Put(fs_.roots().proc + "/self/mountinfo",
        "22 1 0:21 / /proc rw - proc proc rw\n36 22 " + number + " / " + where +
            " rw,noatime shared:1 - ext4 " + source + " rw\n");
  }
  std::string Why(const std::string& name) const { return WhyInUse(fs_, name).value_or("free"); }

  TempDir dir_;
  FakeKernelFs fs_{dir_.path()};
};

TEST_F(ForeignDeviceTest, FreeDiskIsFree) {
  AddDisk();
  EXPECT_EQ(Why("sda"), "free");
  EXPECT_EQ(Why("sda1"), "free");
}

TEST_F(ForeignDeviceTest, B46MountedPartitionTakesItsDiskToo) {
  AddDisk();
  Mount("8:1", "/dev/sda1", "/boot\\040dir");
  EXPECT_EQ(Why("sda1"), "it is mounted on /boot dir");
  EXPECT_EQ(Why("sda"), "its partition sda1 is mounted on /boot dir");
}

TEST_F(ForeignDeviceTest, MountWithANumberOfItsOwnIsFoundByItsNode) {
  AddDisk();
  Put(fs_.roots().dev + "/sda1", "");
  Mount("0:45", fs_.roots().dev + "/sda1", "/data");
  EXPECT_EQ(Why("sda"), "its partition sda1 is mounted on /data");
}

TEST_F(ForeignDeviceTest, SwapAreaIsInUse) {
  AddDisk();
  Put(fs_.roots().proc + "/swaps", "Filename\t\t\tType\t\tSize\tUsed\tPriority\n" +
                                       fs_.roots().dev + "/sda1 partition 1000 0 -2\n");
  EXPECT_EQ(Why("sda"), "its partition sda1 is a swap area");
}

TEST_F(ForeignDeviceTest, B46HolderIsNamedOrWhatIsOnTopOfIt) {
  AddDisk();
  Put(Class("sda1") + "/holders/dm-0", "");
  EXPECT_EQ(Why("sda"), "its partition sda1 is held by dm-0");
  Put(Class("dm-0") + "/dev", "253:0\n");
  Mount("253:0", "/dev/mapper/root", "/");
  EXPECT_EQ(Why("sda"), "its holder dm-0 is mounted on /");
}

TEST_F(ForeignDeviceTest, HoldersInACircleEnd) {
  AddDisk();
  Put(Class("sda") + "/holders/dm-0", "");
  Put(Class("dm-0") + "/holders/sda", "");
  EXPECT_NE(Why("sda"), "free");
}

TEST_F(ForeignDeviceTest, LoopDevicesHoldTheirFileOrDevice) {
  AddDisk();
  Put(Class("loop0") + "/loop/backing_file", fs_.roots().dev + "/sda1\n");
  Put(Class("loop1") + "/loop/backing_file", "/images/disk\n");
  EXPECT_EQ(Why("sda"), "its partition sda1 is what loop0 is made of");
  EXPECT_EQ(WhyFileInUse(fs_, "/images/disk"), "loop1 is made of it");
  EXPECT_FALSE(WhyFileInUse(fs_, "/images/other"));
}

TEST_F(ForeignDeviceTest, B46TypingErrorMakesNoFile) {
  const std::string path = fs_.roots().dev + "/nvme9n11";
  const auto device = ClaimDevice(fs_, "fixture disk", path);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::kUsage);
  EXPECT_NE(device.error().message.find("there is no such device or file"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ForeignDeviceTest, RegularFileAmongTheDevicesIsRefused) {
  const std::string path = fs_.roots().dev + "/nvme9n11";
  Put(path, "data");
  EXPECT_FALSE(ClaimDevice(fs_, "fixture disk", path));
}

TEST_F(ForeignDeviceTest, B20NamesWithColonsAreOneFile) {
  const std::string path = dir_.path() + "/pci-0000:01:00.0-nvme-1";
  Put(path, std::string(4096, 'x'));
  const auto device = ClaimDevice(fs_, "fixture disk", path);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->path, path);
  EXPECT_EQ(device->size_bytes, 4096U);
}

TEST_F(ForeignDeviceTest, FoldersAndEmptyFilesAreRefused) {
  Put(dir_.path() + "/empty", "");
  EXPECT_FALSE(ClaimDevice(fs_, "fixture disk", dir_.path()));
  EXPECT_FALSE(ClaimDevice(fs_, "fixture disk", dir_.path() + "/empty"));
}

TEST_F(ForeignDeviceTest, OneFileIsOneQueueByWhateverName) {
  const std::string path = dir_.path() + "/file";
  Put(path, std::string(4096, 'x'));
  ASSERT_EQ(::symlink(path.c_str(), (path + ".symlink").c_str()), 0);
  ASSERT_EQ(::link(path.c_str(), (path + ".link").c_str()), 0);
  {
    const auto device = ClaimDevice(fs_, "fixture disk", path);
    ASSERT_TRUE(device) << device.error().message;
    for (const char* name : {"", ".symlink", ".link"}) {
      const auto again = ClaimDevice(fs_, "fixture other", path + name);
      ASSERT_FALSE(again) << name;
      EXPECT_EQ(again.error().kind, ErrorKind::kUsage);
      EXPECT_NE(again.error().message.find("is a queue already"), std::string::npos);
    }
  }
  EXPECT_TRUE(ClaimDevice(fs_, "fixture disk", path + ".link")) << "free again";
}

TEST_F(ForeignDeviceTest, DestroyNamesPathOrSerial) {
  ForeignDevice device;
  device.asked = "/dev/disk/by-id/x";
  device.path = "/dev/sda";
  EXPECT_FALSE(CheckDestroy("fixture disk", device, {}));
  EXPECT_FALSE(CheckDestroy("fixture disk", device, {"", "/dev/sdb", "/dev/sd"}));
  EXPECT_TRUE(CheckDestroy("fixture disk", device, {"/dev/sda"}));
  EXPECT_TRUE(CheckDestroy("fixture disk", device, {"other", "/dev/disk/by-id/x"}));
  device.serial = "S1";
  EXPECT_TRUE(CheckDestroy("fixture disk", device, {"S1"}));
}

}  // namespace
}  // namespace blkfair
