// The null_blk fixture: block devices without a medium, whose requests complete by timer after a
// given service time, sharing one tag set or with one each. Module parameters against configfs
// attributes, what is ignored or clamped, and the order of the writes:
// drivers/block/null_blk/main.c of 6.1, 6.12 and 7.3.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/fd.h"
#include "base/units.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/fixture_params.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/null_blk.h"
#include "kmod_setup/requirements.h"
#include "kmod_setup/tag_set.h"

namespace blkfair {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kSectorBytes = 512;  // of /sys/block/DISK/size, whatever the block size
constexpr size_t kDiskNameMax = 31;    // DISK_NAME_LEN - 1
constexpr int64_t kNodePauseNs = 10'000'000;
constexpr int kNodeTries = 1000;  // 10 s

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string BoolText(bool value) { return value ? "1" : "0"; }

class NullBlkFixture : public Fixture {
 public:
  NullBlkFixture(std::string name, const ParamValues& params, const FixtureContext& context)
      : name_(std::move(name)), params_(params), context_(context), fs_(*context.fs) {}

  Result<void> Require() override;
  Result<void> SetUp() override;
  Result<void> TearDown() override;
  const std::vector<Queue>& queues() const override { return queues_; }
  const FixtureFacts& facts() const override { return facts_; }

 private:
  // One device, as far as set-up got with it.
  struct Device {
    uint32_t index = 0;
    const ConfigfsDir* dir = nullptr;  // owned by objects_
    Settings attributes;               // what was written in configfs
    std::string disk;
    std::string sys;  // /sys/block/DISK
  };

  Result<void> MakeAll();
  Result<void> BringInTheKernelParts();
  Result<void> CheckSharedSetIsFree() const;
  Settings Attributes(uint32_t index) const;
  Result<void> SetAttribute(ConfigfsDir* dir, const std::string& attribute,
                            const std::string& value) const;
  Result<Device> MakeDevice(uint32_t index);
  Result<void> FindDisk(Device* device) const;
  Result<void> WaitForNode(const std::string& path) const;
  Result<void> SetScheduler(const Device& device);
  Result<void> SetQueueAttributes(const Device& device);
  Result<void> CheckDevice(const Device& device) const;
  Result<void> CheckTags(const Device& device);
  Result<Queue> DescribeQueue(const Device& device) const;
  void AddFacts(const Device& device);
  // A value read back; a mismatch names both.
  Result<void> Expect(const std::string& path, const std::string& wanted) const;

  std::string DirName(uint32_t index) const {
    return fmt::format("{}{}-{}", kObjectPrefix, name_, index);
  }
  std::string NullbRoot() const { return fs_.roots().configfs + "/nullb"; }

  const std::string name_;
  const ParamValues params_;
  const FixtureContext context_;
  KernelFs& fs_;
  KernelObjects objects_;
  std::vector<Queue> queues_;
  FixtureFacts facts_;
};

Result<void> NullBlkFixture::Require() {
  constexpr std::array kNeeds = {&kRootRequirement, &kNullBlkRequirement, &kConfigfsRequirement,
                                 &kDebugfsRequirement};
  if (DirName(QueueCount(params_) - 1).size() > kDiskNameMax) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("fixture name '{}' is too long: the kernel's names of its disks, such as "
                    "{}, have at most {} characters",
                    name_, DirName(0), kDiskNameMax));
  }
  RETURN_IF_ERROR(CheckRequirements(kNeeds, "fixture " + name_, fs_, *context_.modules));
  return RequireNullBlkDriver(params_, fs_);
}

Result<void> NullBlkFixture::SetUp() {
  Result<void> made = MakeAll();
  if (made) return {};
  std::vector<Error> errors = {std::move(made.error())};
  if (Result<void> undone = TearDown(); !undone) errors.push_back(std::move(undone.error()));
  return JoinErrors(errors);
}

Result<void> NullBlkFixture::TearDown() {
  queues_.clear();
  return objects_.Release();
}

Result<void> NullBlkFixture::MakeAll() {
  facts_ = {};
  RETURN_IF_ERROR(BringInTheKernelParts());
  for (const auto& [parameter, wanted] : NullBlkModuleParameters(params_)) {
    const Result<std::string> value = ReadModuleParameter(fs_, kNullBlkModule, parameter);
    if (value) facts_.settings.emplace_back("module null_blk " + parameter, *value);
  }
  if (params_.Bool("shared_tags")) RETURN_IF_ERROR(CheckSharedSetIsFree());
  std::vector<Device> devices;
  for (uint32_t i = 0; i < QueueCount(params_); i++) {
    ASSIGN_OR_RETURN(Device device, MakeDevice(i));
    devices.push_back(std::move(device));
  }
  // Only when all have joined the set: each newcomer may change what the others show.
  for (const Device& device : devices) {
    RETURN_IF_ERROR(SetScheduler(device));
    RETURN_IF_ERROR(SetQueueAttributes(device));
  }
  for (const Device& device : devices) {
    RETURN_IF_ERROR(CheckDevice(device));
    RETURN_IF_ERROR(CheckTags(device));
    ASSIGN_OR_RETURN(Queue queue, DescribeQueue(device));
    queues_.push_back(std::move(queue));
    AddFacts(device);
  }
  return {};
}

Result<void> NullBlkFixture::BringInTheKernelParts() {
  RETURN_IF_ERROR(EnsureNullBlkDriver(params_, context_, &objects_));
  for (const std::string& scheduler : params_.Strings("scheduler")) {
    const std::string module = SchedulerModule(scheduler);
    if (module.empty() || !context_.modules->Available(module)) continue;  // built in, or missing
    RETURN_IF_ERROR(objects_.LoadModule(context_, module, {}));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Mount> configfs,
                   Mount::Create(context_, "configfs", fs_.roots().configfs));
  objects_.Add(std::move(configfs));
  ASSIGN_OR_RETURN(std::unique_ptr<Mount> debugfs,
                   Mount::Create(context_, "debugfs", fs_.roots().debugfs));
  objects_.Add(std::move(debugfs));
  if (!fs_.Exists(fs_.roots().debugfs + "/block")) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("fixture {} needs block debugfs to see who holds the "
                            "tags: this kernel has none (CONFIG_BLK_DEBUG_FS)",
                            name_));
  }
  return {};
}

// There is one shared tag set in the kernel, for all null_blk devices that share.
Result<void> NullBlkFixture::CheckSharedSetIsFree() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.List(NullbRoot()));
  for (const std::string& name : names) {
    const std::string dir = NullbRoot() + "/" + name;
    if (fs_.ReadLine(dir + "/power").value_or("0") != "1") continue;
    if (fs_.ReadLine(dir + "/shared_tags").value_or("1") != "1") continue;
    return Fail(ErrorKind::kUnmet,
                fmt::format("fixture {} needs the tag set that null_blk devices share, of which a "
                            "kernel has one: device {} is using it",
                            name_, name));
  }
  return {};
}

Settings NullBlkFixture::Attributes(uint32_t index) const {
  // queue_mode first: a device in bio mode must never see a write to submit_queues (6.1.192
  // oopses).
  Settings attributes = {
      {"queue_mode", "2"},
      {"irqmode", "2"},
      {"completion_nsec", std::to_string(params_.IntAt("service_time", index))},
      {"blocksize", std::to_string(params_.IntAt("block_size", index))},
      {"size", std::to_string(params_.IntAt("size", index) / kMiB)},
      {"memory_backed", BoolText(params_.Bool("memory_backed"))},
      {"discard", BoolText(params_.Bool("discard"))},
      {"mbps", std::to_string(params_.Has("mbps") ? params_.IntAt("mbps", index) : 0)},
      {"shared_tags", BoolText(params_.Bool("shared_tags"))},
  };
  if (params_.Has("max_io_size")) {
    const int64_t sectors = params_.IntAt("max_io_size", index) / kSectorBytes;
    attributes.emplace_back("max_sectors", std::to_string(sectors));
  }
  if (params_.Bool("shared_tags")) return attributes;  // the module's parameters shape the set
  attributes.emplace_back("submit_queues", std::to_string(params_.Int("hw_queues")));
  attributes.emplace_back("poll_queues", "0");
  attributes.emplace_back("hw_queue_depth", std::to_string(params_.Int("depth")));
  attributes.emplace_back("blocking", BoolText(NullBlkBlocks(params_)));
  attributes.emplace_back("shared_tag_bitmap", BoolText(params_.Bool("shared_tag_bitmap")));
  return attributes;
}

Result<void> NullBlkFixture::SetAttribute(ConfigfsDir* dir, const std::string& attribute,
                                          const std::string& value) const {
  if (dir->HasAttr(attribute)) return dir->Set(attribute, value);
  // Before configfs had shared_tags, the module's parameter held for all devices. What else is
  // missing is as good as 0.
  const std::string effective =
      attribute == "shared_tags" ? ReadModuleParameter(fs_, kNullBlkModule, attribute).value_or("0")
                                 : "0";
  if (effective == value) return {};
  return Fail(ErrorKind::kUnmet,
              fmt::format("fixture {} needs {} = {}: null_blk of this kernel cannot set that for a "
                          "device, and has {}",
                          name_, attribute, value, effective));
}

Result<NullBlkFixture::Device> NullBlkFixture::MakeDevice(uint32_t index) {
  ASSIGN_OR_RETURN(std::unique_ptr<ConfigfsDir> made,
                   ConfigfsDir::Create(context_, NullbRoot() + "/" + DirName(index)));
  ConfigfsDir* const dir = objects_.Add(std::move(made));
  Device device;
  device.index = index;
  device.dir = dir;
  for (auto& [attribute, value] : Attributes(index)) {
    RETURN_IF_ERROR(SetAttribute(dir, attribute, value));
    if (dir->HasAttr(attribute)) device.attributes.emplace_back(attribute, value);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> power,
                   SavedAttr::Create(context_, dir->AttrPath("power"), "1"));
  objects_.Add(std::move(power));
  RETURN_IF_ERROR(FindDisk(&device));
  RETURN_IF_ERROR(WaitForNode(fs_.roots().dev + "/" + device.disk));
  return device;
}

// The disk is called like the directory since 6.0; before that, after the device's index.
Result<void> NullBlkFixture::FindDisk(Device* device) const {
  const std::string by_index = "nullb" + device->dir->Get("index").value_or("");
  for (const std::string& disk : {DirName(device->index), by_index}) {
    device->disk = disk;
    device->sys = fmt::format("{}/block/{}", fs_.roots().sys, disk);
    if (fs_.Exists(device->sys)) return {};
  }
  return Fail(ErrorKind::kKernel,
              fmt::format("find the disk of {}: there is neither {} nor {} in {}/block",
                          device->dir->path(), DirName(device->index), by_index, fs_.roots().sys));
}

Result<void> NullBlkFixture::WaitForNode(const std::string& path) const {
  for (int i = 0; i < kNodeTries; i++) {
    if (OpenFile(path, O_RDONLY)) return {};
    if (!context_.sleep(kNodePauseNs)) {
      return Fail(ErrorKind::kInterrupted, fmt::format("wait for {}: interrupted", path));
    }
  }
  return Fail(ErrorKind::kKernel,
              fmt::format("open {}: it did not appear within 10 s; is devtmpfs mounted?", path));
}

Result<void> NullBlkFixture::SetScheduler(const Device& device) {
  const std::string path = device.sys + "/queue/scheduler";
  const std::string& wanted = params_.StringAt("scheduler", device.index);
  ASSIGN_OR_RETURN(const std::string offered, fs_.Read(path));
  std::istringstream words(offered);
  bool found = false;
  for (std::string word; words >> word;) found |= word == wanted || word == "[" + wanted + "]";
  if (!found) {
    return Fail(ErrorKind::kUnmet, fmt::format("fixture {} needs the scheduler {}: this kernel has "
                                               "neither built it in nor a module of it",
                                               name_, wanted));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> scheduler, SavedAttr::Create(context_, path, wanted));
  objects_.Add(std::move(scheduler));
  return {};
}

// After the scheduler, whose change resets nr_requests. nr_requests is saved although the device
// goes away: the resized tag set would stay for the next user of the module.
Result<void> NullBlkFixture::SetQueueAttributes(const Device& device) {
  Settings wanted;
  if (params_.Has("nr_requests") && params_.IntAt("nr_requests", device.index) != 0) {
    wanted.emplace_back("nr_requests", std::to_string(params_.IntAt("nr_requests", device.index)));
  }
  if (params_.Has("io_timeout")) {
    wanted.emplace_back("io_timeout",
                        std::to_string(params_.IntAt("io_timeout", device.index) / 1'000'000));
  }
  for (const auto& [attribute, value] : wanted) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<SavedAttr> saved,
        SavedAttr::Create(context_, fmt::format("{}/queue/{}", device.sys, attribute), value));
    objects_.Add(std::move(saved));
  }
  return {};
}

Result<void> NullBlkFixture::Expect(const std::string& path, const std::string& wanted) const {
  ASSIGN_OR_RETURN(const std::string is, fs_.ReadLine(path));
  if (is == wanted) return {};
  return Fail(
      ErrorKind::kKernel,
      fmt::format("{} is {} where {} was asked: the kernel did not take it", path, is, wanted));
}

Result<void> NullBlkFixture::CheckDevice(const Device& device) const {
  for (const auto& [attribute, value] : device.attributes) {
    RETURN_IF_ERROR(Expect(device.dir->AttrPath(attribute), value));
  }
  RETURN_IF_ERROR(Expect(device.sys + "/queue/logical_block_size",
                         std::to_string(params_.IntAt("block_size", device.index))));
  return Expect(device.sys + "/size",
                std::to_string(params_.IntAt("size", device.index) / kSectorBytes));
}

Result<void> NullBlkFixture::CheckTags(const Device& device) {
  const auto mismatch = [&](std::string_view what, auto is, auto wanted) {
    return Fail(ErrorKind::kKernel, fmt::format("{} of {} is {} where {} was asked: the kernel did "
                                                "not take it",
                                                what, device.disk, is, wanted));
  };
  const int64_t depth = params_.Int("depth");
  ASSIGN_OR_RETURN(const std::vector<MqHctx> hctxs, ReadMqHctxs(fs_, device.disk));
  if (static_cast<int64_t>(hctxs.size()) != params_.Int("hw_queues")) {
    return mismatch("the number of hardware queues", hctxs.size(), params_.Int("hw_queues"));
  }
  for (const MqHctx& hctx : hctxs) {
    if (hctx.nr_tags != depth) return mismatch("nr_tags", hctx.nr_tags, depth);
  }
  ASSIGN_OR_RETURN(const HctxFlags flags, ReadHctxFlags(fs_, device.disk, 0));
  const bool shared = params_.Bool("shared_tags") && QueueCount(params_) > 1;
  if (flags.tag_queue_shared != shared) {
    return mismatch("TAG_QUEUE_SHARED", flags.tag_queue_shared, shared);
  }
  if (flags.tag_hctx_shared != params_.Bool("shared_tag_bitmap")) {
    return mismatch("TAG_HCTX_SHARED", flags.tag_hctx_shared, params_.Bool("shared_tag_bitmap"));
  }
  ASSIGN_OR_RETURN(const HctxTags tags, ReadHctxTags(fs_, device.disk, 0));
  // A run before may have resized the set, which lives as long as the module.
  if (!params_.Has("nr_requests") && tags.depth + tags.nr_reserved_tags != tags.nr_tags) {
    return mismatch("the depth of the tag set", tags.depth, tags.nr_tags - tags.nr_reserved_tags);
  }
  if (device.index == 0) {
    facts_.tags = {.shared = flags.tag_queue_shared,
                   .nr_tags = tags.depth + tags.nr_reserved_tags,
                   .nr_reserved_tags = tags.nr_reserved_tags,
                   .nr_hw_queues = static_cast<uint32_t>(hctxs.size())};
  }
  return {};
}

Result<Queue> NullBlkFixture::DescribeQueue(const Device& device) const {
  Queue queue;
  queue.fixture = name_;
  queue.index = device.index;
  queue.kind = QueueKind::kBlock;
  queue.disk = device.disk;
  queue.path = fs_.roots().dev + "/" + device.disk;
  ASSIGN_OR_RETURN(const int64_t sectors, fs_.ReadInt(device.sys + "/size"));
  queue.size_bytes = static_cast<uint64_t>(sectors * kSectorBytes);
  ASSIGN_OR_RETURN(const int64_t block, fs_.ReadInt(device.sys + "/queue/logical_block_size"));
  queue.logical_block_bytes = static_cast<uint32_t>(block);
  // dma_alignment is a mask (Documentation/ABI/stable/sysfs-block); without it a block is safe.
  const int64_t mask = fs_.ReadInt(device.sys + "/queue/dma_alignment").value_or(block - 1);
  queue.dma_alignment_bytes = static_cast<uint32_t>(mask + 1);
  const int64_t max_kb = fs_.ReadInt(device.sys + "/queue/max_sectors_kb").value_or(0);
  queue.max_transfer_bytes = static_cast<uint64_t>(max_kb * 1024);
  return queue;
}

void NullBlkFixture::AddFacts(const Device& device) {
  constexpr std::array kQueueAttributes = {"scheduler",   "nr_requests",    "async_depth",
                                           "io_timeout",  "max_sectors_kb", "nomerges",
                                           "rq_affinity", "wbt_lat_usec"};
  const std::string prefix = queues_[device.index].Name() + " ";
  facts_.settings.emplace_back(prefix + "disk", device.disk);
  for (const auto& [attribute, value] : device.attributes) {
    facts_.settings.emplace_back(prefix + attribute, value);  // read back by CheckDevice
  }
  for (const char* const attribute : kQueueAttributes) {
    const Result<std::string> text = fs_.Read(fmt::format("{}/queue/{}", device.sys, attribute));
    if (text) facts_.settings.emplace_back(prefix + attribute, ChosenValue(*text));
  }
  const Result<HctxTags> tags = ReadHctxTags(fs_, device.disk, 0);
  if (!tags) return;
  facts_.settings.emplace_back(prefix + "nr_tags", std::to_string(tags->nr_tags));
  facts_.settings.emplace_back(prefix + "nr_reserved_tags", std::to_string(tags->nr_reserved_tags));
  facts_.settings.emplace_back(prefix + "tag_depth", std::to_string(tags->depth));
}

std::unique_ptr<Fixture> Create(std::string name, const ParamValues& params,
                                const FixtureContext& context) {
  return std::make_unique<NullBlkFixture>(std::move(name), params, context);
}

}  // namespace

// kFixtures of fixture_table.cc refers to it.
extern const FixtureInfo kNullBlkFixtureInfo;
const FixtureInfo kNullBlkFixtureInfo = {
    .name = "null_blk",
    .help = "Devices without a medium that complete by timer, sharing one tag set",
    .params = NullBlkParams(),
    .modules = NullBlkModules,
    .boot_parameters = NullBlkBootParameters,
    .queue_count = QueueCount,
    .check = CheckNullBlkParams,
    .create = Create,
    .needs_kernel = true,
};

}  // namespace blkfair
