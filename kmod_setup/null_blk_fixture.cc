// The null_blk fixture: block devices without a medium, whose requests complete by timer after a
// given service time, sharing one tag set or with one each. Module parameters against configfs
// attributes, what is ignored or clamped, and the order of the writes:
// drivers/block/null_blk/main.c of 6.1, 6.12 and 7.3.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "kmod_setup/disk.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/fixture_params.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/null_blk.h"
#include "kmod_setup/requirements.h"
#include "kmod_setup/tag_set.h"

namespace blkfair {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr size_t kDiskNameMax = 31;  // DISK_NAME_LEN - 1

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
  Result<void> SetQueueAttributes(const Device& device);
  Result<void> CheckDevice(const Device& device) const;
  Result<void> CheckTags(const Device& device);
  void AddFacts(const Device& device);

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
    ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> scheduler,
                     SetScheduler(context_, "fixture " + name_, device.disk,
                                  params_.StringAt("scheduler", device.index)));
    objects_.Add(std::move(scheduler));
    RETURN_IF_ERROR(SetQueueAttributes(device));
  }
  for (const Device& device : devices) {
    RETURN_IF_ERROR(CheckDevice(device));
    RETURN_IF_ERROR(CheckTags(device));
    ASSIGN_OR_RETURN(Queue queue, DescribeDisk(fs_, name_, device.index, device.disk, device.disk));
    queues_.push_back(std::move(queue));
    AddFacts(device);
  }
  return {};
}

Result<void> NullBlkFixture::BringInTheKernelParts() {
  RETURN_IF_ERROR(EnsureNullBlkDriver(params_, context_, &objects_));
  RETURN_IF_ERROR(LoadSchedulers(context_, params_.Strings("scheduler"), &objects_));
  RETURN_IF_ERROR(MountConfigfs(context_, &objects_));
  RETURN_IF_ERROR(MountDebugfs(context_, "fixture " + name_, &objects_));
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
  attributes.emplace_back("poll_queues", std::to_string(params_.Int("poll_queues")));
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
  RETURN_IF_ERROR(WaitForNode(context_, fs_.roots().dev + "/" + device.disk));
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

Result<void> NullBlkFixture::CheckDevice(const Device& device) const {
  for (const auto& [attribute, value] : device.attributes) {
    RETURN_IF_ERROR(ExpectText(fs_, device.dir->AttrPath(attribute), value));
  }
  RETURN_IF_ERROR(ExpectText(fs_, device.sys + "/queue/logical_block_size",
                             std::to_string(params_.IntAt("block_size", device.index))));
  return ExpectText(fs_, device.sys + "/size",
                    std::to_string(params_.IntAt("size", device.index) / kSectorBytes));
}

Result<void> NullBlkFixture::CheckTags(const Device& device) {
  const int64_t depth = params_.Int("depth");
  ASSIGN_OR_RETURN(const std::vector<MqHctx> hctxs, ReadMqHctxs(fs_, device.disk));
  const int64_t wanted_hctxs = params_.Int("hw_queues") + params_.Int("poll_queues");
  if (static_cast<int64_t>(hctxs.size()) != wanted_hctxs) {
    return Mismatch("the number of hardware queues", device.disk,
                    static_cast<int64_t>(hctxs.size()), wanted_hctxs);
  }
  for (const MqHctx& hctx : hctxs) {
    if (hctx.nr_tags != depth) return Mismatch("nr_tags", device.disk, hctx.nr_tags, depth);
  }
  ASSIGN_OR_RETURN(const HctxFlags flags, ReadHctxFlags(fs_, device.disk, 0));
  const bool shared = params_.Bool("shared_tags") && QueueCount(params_) > 1;
  if (flags.tag_queue_shared != shared) {
    return Mismatch("TAG_QUEUE_SHARED", device.disk, flags.tag_queue_shared, shared);
  }
  if (flags.tag_hctx_shared != params_.Bool("shared_tag_bitmap")) {
    return Mismatch("TAG_HCTX_SHARED", device.disk, flags.tag_hctx_shared,
                    params_.Bool("shared_tag_bitmap"));
  }
  ASSIGN_OR_RETURN(const HctxTags tags, ReadHctxTags(fs_, device.disk, 0));
  // A run before may have resized the set, which lives as long as the module.
  if (!params_.Has("nr_requests") && tags.depth + tags.nr_reserved_tags != tags.nr_tags) {
    return Mismatch("the depth of the tag set", device.disk, tags.depth,
                    tags.nr_tags - tags.nr_reserved_tags);
  }
  if (device.index == 0) {
    ASSIGN_OR_RETURN(facts_.tags, ReadTagSet(fs_, device.disk));
  }
  return {};
}

void NullBlkFixture::AddFacts(const Device& device) {
  const Queue& queue = queues_[device.index];
  facts_.settings.emplace_back(queue.Name() + " disk", device.disk);
  for (const auto& [attribute, value] : device.attributes) {
    facts_.settings.emplace_back(queue.Name() + " " + attribute, value);  // read back before
  }
  AddDiskFacts(fs_, queue, &facts_);
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
    .queue_key = "queues",
    .check = CheckNullBlkParams,
    .create = Create,
    .needs_kernel = true,
};

}  // namespace blkfair
