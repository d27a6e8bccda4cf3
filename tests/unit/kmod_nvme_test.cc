// NVMe as sysfs shows it, and the connection to the kernel's own target: on a fake /sys.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/fd.h"
#include "kmod_setup/fixture_table.h"
#include "kmod_setup/journal.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/nvme.h"
#include "tests/support/fake_kernel_fs.h"

namespace blkfair {
namespace {

class NvmeTest : public testing::Test {
 protected:
  NvmeTest() {
    context_.fs = &fs_;
    context_.modules = &modules_;
    context_.journal = &journal_;
    context_.sleep = [](int64_t) { return true; };
  }
  void Put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(WriteWholeFile(path, text));
  }
  std::string Dir(const std::string& controller) const {
    return fs_.roots().sys + "/class/nvme/" + controller;
  }
  void AddController(const std::string& name, const std::string& serial, const std::string& nqn) {
    Put(Dir(name) + "/serial", serial + "               \n");
    Put(Dir(name) + "/subsysnqn", nqn + "\n");
    Put(Dir(name) + "/state", "live\n");
    Put(Dir(name) + "/delete_controller", "");
  }
  void AddNamespace(const std::string& controller, const std::string& disk,
                    const std::string& nsid) {
    Put(Dir(controller) + "/" + disk + "/nsid", nsid + "\n");
  }

  TempDir dir_;
  FakeKernelFs fs_{dir_.path()};
  FakeModuleLoader modules_{&fs_};
  Journal journal_ = Journal::Discarding();
  FixtureContext context_;
};

TEST_F(NvmeTest, NoNvmeIsNoController) {
  EXPECT_TRUE(ListNvmeControllers(fs_).empty());
  EXPECT_FALSE(FindNvmeBySerial(fs_, "x"));
}

TEST_F(NvmeTest, NamespacesAreFoundByNsidNotByName) {
  AddController("nvme0", "OTHER", "nqn.a");
  AddController("nvme1", "BF", "nqn.b");
  AddNamespace("nvme1", "nvme1n1", "2");
  AddNamespace("nvme1", "nvme1n2", "1");
  const auto controller = FindNvmeBySerial(fs_, "BF");
  ASSERT_TRUE(controller);
  EXPECT_EQ(controller->name, "nvme1");
  EXPECT_EQ(FindNvmeNamespace(fs_, *controller, 1)->disk, "nvme1n2");
  EXPECT_EQ(FindNvmeNamespace(fs_, *controller, 2)->disk, "nvme1n1");
  EXPECT_FALSE(FindNvmeNamespace(fs_, *controller, 3));
}

TEST_F(NvmeTest, MultipathHeadHasTheNodeAndThePathTheTags) {
  AddController("nvme1", "BF", "nqn.b");
  AddNamespace("nvme1", "nvme0c1n1", "1");
  const auto found = FindNvmeNamespace(fs_, *FindNvmeBySerial(fs_, "BF"), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->disk, "nvme0c1n1");
  EXPECT_EQ(found->node, "nvme0n1");
}

TEST_F(NvmeTest, WhatIsNoDiskIsNoNamespace) {
  AddController("nvme0", "BF", "nqn.b");
  for (const char* name : {"ng0n1", "hwmon0", "nvme0n1p1", "nvme0", "power"}) {
    AddNamespace("nvme0", name, "1");
  }
  EXPECT_TRUE(ListNvmeNamespaces(fs_, *FindNvmeBySerial(fs_, "BF")).empty());
}

TEST_F(NvmeTest, ConnectionIsUndoneByItsNqnAlone) {
  Put(fs_.roots().dev + "/nvme-fabrics", "");
  AddController("nvme0", "A", "bf-other");
  {
    auto connection = NvmeConnection::Create(context_, "bf-ctrl", "transport=loop,queue_size=64");
    ASSERT_TRUE(connection) << connection.error().message;
    EXPECT_EQ(fs_.ReadLine(fs_.roots().dev + "/nvme-fabrics").value_or(""),
              "nqn=bf-ctrl,transport=loop,queue_size=64");
    AddController("nvme1", "B", "bf-ctrl");
    EXPECT_TRUE((*connection)->Release());
  }
  EXPECT_EQ(fs_.ReadLine(Dir("nvme1") + "/delete_controller").value_or(""), "1");
  EXPECT_EQ(fs_.ReadLine(Dir("nvme0") + "/delete_controller").value_or(""), "");
}

TEST_F(NvmeTest, ConnectionsOfOthersAreNotUndone) {
  AddController("nvme0", "A", "nqn.2014-08.org.somebody");
  const Operation operation = {.kind = OperationKind::kConnect,
                               .object = "nqn.2014-08.org.somebody",
                               .before = {},
                               .after = {}};
  EXPECT_FALSE(UndoOperation(operation, fs_, modules_));
  EXPECT_EQ(fs_.ReadLine(Dir("nvme0") + "/delete_controller").value_or(""), "");
}

TEST_F(NvmeTest, OnlyOurPortsAreRemoved) {
  const std::string ports = fs_.roots().configfs + "/nvmet/ports/";
  for (const char* port : {"1", "0xbf00"}) {
    std::filesystem::create_directories(ports + port);
    const Operation operation = {
        .kind = OperationKind::kMakeDir, .object = ports + port, .before = {}, .after = {}};
    EXPECT_EQ(UndoOperation(operation, fs_, modules_).has_value(), port[0] == '0') << port;
  }
  EXPECT_TRUE(std::filesystem::exists(ports + "1"));
}

ParamValues QemuValues() {
  ParamValues values;
  values.Set("queues", int64_t{2});
  values.Set("io_queues", int64_t{1});
  values.Set("queue_size", int64_t{64});
  values.Set("service_time", std::vector<int64_t>{0, 20'000'000});
  values.Set("block_size", std::vector<int64_t>{512});
  values.Set("size", std::vector<int64_t>{1 << 30});
  values.Set("max_io_size", int64_t{128 << 10});
  values.Set("scheduler", std::vector<std::string>{"none"});
  return values;
}

TEST_F(NvmeTest, QemuGetsTheWholeController) {
  const FixtureInfo* info = FindFixture("nvme_qemu");
  ASSERT_NE(info, nullptr);
  const std::vector<std::string> arguments = info->qemu_arguments("ctrl", QemuValues());
  ASSERT_EQ(arguments.size(), 10U);
  EXPECT_EQ(arguments[1], "nvme,id=bf-ctrl,serial=bf-ctrl,max_ioqpairs=1,mdts=5");
  EXPECT_EQ(arguments[7],
            "driver=null-co,node-name=bf-ctrl-2,size=1073741824,read-zeroes=on,"
            "latency-ns=20000000");
  EXPECT_EQ(arguments[9],
            "nvme-ns,drive=bf-ctrl-2,bus=bf-ctrl,nsid=2,logical_block_size=512,"
            "physical_block_size=512");
  EXPECT_EQ(info->boot_parameters(QemuValues()).front(), "nvme.io_queue_depth=64");
}

TEST_F(NvmeTest, WithoutQemusControllerItIsASkipThatSaysSo) {
  const auto fixture = FindFixture("nvme_qemu")->create("ctrl", QemuValues(), context_);
  const auto met = fixture->Require();
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().kind, ErrorKind::kUnmet);
  EXPECT_NE(met.error().message.find("use --on guest"), std::string::npos) << met.error().message;
}

}  // namespace
}  // namespace blkfair
