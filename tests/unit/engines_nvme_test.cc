// NVMe passthrough without NVMe: the namespace's generic node in a made-up sysfs, identify data,
// lengths and statuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "engines/nvme_passthrough.h"

namespace blkfair {
namespace {

class GenericNode : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "generic_node_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A device of the class, below `parent`, as sysfs shows it.
  void Add(const std::string& of_class, const std::string& name, const std::string& parent) {
    const KernelRoots roots = KernelRoots::Under(folder_);
    const std::string device = roots.sys + "/devices/" + parent;
    const std::string entry = roots.sys + "/class/" + of_class + "/" + name;
    std::filesystem::create_directories(device);
    std::filesystem::create_directories(entry);
    std::filesystem::create_symlink(device, entry + "/device");
  }
  Result<std::string> NodeOf(const std::string& path) const {
    Queue queue;
    queue.path = path;
    return GenericNodeOf(KernelFs(KernelRoots::Under(folder_)), queue);
  }

  std::string folder_;
};

TEST_F(GenericNode, B31IsThatOfTheSameDevice) {
  Add("block", "nvme12n3", "nvme12");
  Add("nvme-generic", "ng12n3", "nvme12");
  const auto node = NodeOf("/dev/nvme12n3");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_TRUE(node->ends_with("/dev/ng12n3")) << *node;
}

TEST_F(GenericNode, B31OfAnotherDeviceIsAnError) {
  Add("block", "nvme0n1", "nvme-subsys0");
  Add("nvme-generic", "ng0n1", "nvme1");
  const auto node = NodeOf("/dev/nvme0n1");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().kind, ErrorKind::kKernel);
  EXPECT_NE(node.error().message.find("does not show ng0n1 as the same"), std::string::npos)
      << node.error().message;
}

TEST_F(GenericNode, B31AHeadWithoutOneIsAnError) {
  Add("block", "nvme0n1", "nvme-subsys0");
  const auto node = NodeOf("/dev/nvme0n1");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().kind, ErrorKind::kKernel);
  EXPECT_NE(node.error().message.find("no generic character device ng0n1"), std::string::npos)
      << node.error().message;
}

TEST_F(GenericNode, B31OnlyWholeNamespacesHaveOne) {
  for (const char* path : {"/dev/nullb0", "/dev/nvme0n1p1", "/dev/nvme0", "/dev/nvme0c0n1",
                           "/dev/nvmen1", "/some/file"}) {
    const auto node = NodeOf(path);
    ASSERT_FALSE(node) << path;
    EXPECT_EQ(node.error().kind, ErrorKind::kUnmet);
    EXPECT_NE(node.error().message.find("whole NVMe namespace"), std::string::npos)
        << node.error().message;
  }
}

NvmeTarget Target(uint32_t lba_shift, uint64_t max_transfer_bytes) {
  NvmeTarget target;
  target.node = "/dev/ng0n1";
  target.lba_shift = lba_shift;
  target.max_transfer_bytes = max_transfer_bytes;
  return target;
}

TEST(NvmePassthrough, B31LengthsAreWholeBlocksWithinOneCommand) {
  EXPECT_TRUE(CheckNvmeLength(Target(12, 512 * 1024), 4096));
  EXPECT_TRUE(CheckNvmeLength(Target(9, 512 * 1024), 512 * 1024));
  EXPECT_TRUE(CheckNvmeLength(Target(9, 0), 8 << 20));
  const auto part = CheckNvmeLength(Target(12, 512 * 1024), 512);
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().message,
            "bs = 512 B is not a multiple of the logical block of /dev/ng0n1, 4096 B");
  const auto large = CheckNvmeLength(Target(9, 512 * 1024), 1 << 20);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("1048576 B is more than one command to /dev/ng0n1 can"),
            std::string::npos)
      << large.error().message;
}

TEST(NvmePassthrough, B31FormatsAreReadFromIdentifyData) {
  std::array<std::byte, kNvmeIdentifyBytes> data = {};
  const auto set_format = [&](size_t index, uint8_t shift, uint16_t metadata) {
    data[128 + 4 * index] = static_cast<std::byte>(metadata);
    data[129 + 4 * index] = static_cast<std::byte>(metadata >> 8);
    data[130 + 4 * index] = static_cast<std::byte>(shift);
  };
  set_format(0, 9, 0);
  set_format(1, 12, 0);
  set_format(3, 9, 8);
  set_format(17, 12, 0x140);
  EXPECT_EQ(NvmeFormatOf(data).lba_shift, 9u);
  EXPECT_EQ(NvmeFormatOf(data).metadata_bytes, 0u);
  data[26] = std::byte{1};
  EXPECT_EQ(NvmeFormatOf(data).lba_shift, 12u);
  data[26] = std::byte{0x13};  // bit 4: metadata at the end of the data
  EXPECT_EQ(NvmeFormatOf(data).metadata_bytes, 8u);
  data[26] = std::byte{0x21};  // bits 5 and 6 are the upper ones of the index
  EXPECT_EQ(NvmeFormatOf(data).metadata_bytes, 0x140u);
}

TEST(NvmePassthrough, B31SuccessIsAResultOfZeroAndAStatusIsAnError) {
  EXPECT_EQ(ErrnoOfNvmeResult(0), 0);
  EXPECT_EQ(ErrnoOfNvmeResult(-EACCES), -EACCES);
  EXPECT_EQ(ErrnoOfNvmeResult(0x4080), -ENOSPC);  // do not retry: LBA out of range
  EXPECT_EQ(ErrnoOfNvmeResult(0x001), -EOPNOTSUPP);
  EXPECT_EQ(ErrnoOfNvmeResult(0x002), -EINVAL);
  EXPECT_EQ(ErrnoOfNvmeResult(0x281), -EIO);  // unrecovered read error
}

}  // namespace
}  // namespace blkfair
