// The device fixture: block devices and files that are there already, each a queue of its own:
// loop, virtio-blk, zram, a real disk. They are claimed, read, and left as they are.
#include <fmt/format.h>

#include <array>

#include "kmod_setup/disk.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/foreign_device.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/requirements.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "paths",
              .type = ParamType::kString,
              .shape = ParamShape::kList,
              .required = true,
              .help = "Block devices or regular files, one queue each, taken not to share tags"},
    ParamSpec{.name = "destroy_data",
              .type = ParamType::kBool,
              .default_text = "false",
              .help = "Let jobs write to them, if the command line says --destroy PATH as well"},
    ParamSpec{.name = "scheduler",
              .type = ParamType::kChoice,
              .choices = "none|mq-deadline|kyber|bfq",
              .help = "I/O scheduler of the block devices; as it is unless given"},
};

uint32_t PathCount(const ParamValues& params) {
  return static_cast<uint32_t>(params.Strings("paths").size());
}

std::optional<std::string> Check(const ParamValues& params) {
  for (const std::string& path : params.Strings("paths")) {
    if (!path.starts_with('/')) {
      return fmt::format("'{}' is no absolute path; a path is one element, colons and all", path);
    }
  }
  return std::nullopt;
}

std::vector<std::string> NoWords(const ParamValues&) { return {}; }

class DeviceFixture : public Fixture {
 public:
  DeviceFixture(std::string name, const ParamValues& params, const FixtureContext& context)
      : name_(std::move(name)), params_(params), context_(context), fs_(*context.fs) {}

  Result<void> Require() override;
  Result<void> SetUp() override;
  Result<void> TearDown() override {
    queues_.clear();
    devices_.clear();
    return objects_.Release();
  }
  const std::vector<Queue>& queues() const override { return queues_; }
  const FixtureFacts& facts() const override { return facts_; }

 private:
  Result<void> MakeAll();
  Result<Queue> Describe(const ForeignDevice& device, uint32_t index);
  std::string Who() const { return "fixture " + name_; }

  const std::string name_;
  const ParamValues params_;
  const FixtureContext context_;
  KernelFs& fs_;
  KernelObjects objects_;
  std::vector<ForeignDevice> devices_;
  std::vector<Queue> queues_;
  FixtureFacts facts_;
};

// Claims them already: what is refused must be so before anything is changed for other fixtures.
Result<void> DeviceFixture::Require() {
  constexpr std::array kNeeds = {&kRootRequirement};
  RETURN_IF_ERROR(CheckRequirements(kNeeds, Who(), fs_, *context_.modules));
  devices_.clear();
  for (const std::string& path : params_.Strings("paths")) {
    ASSIGN_OR_RETURN(ForeignDevice device, ClaimDevice(fs_, Who(), path));
    if (params_.Bool("destroy_data")) {
      RETURN_IF_ERROR(CheckDestroy(Who(), device, context_.destroy));
    }
    devices_.push_back(std::move(device));
  }
  return {};
}

Result<void> DeviceFixture::SetUp() {
  Result<void> made = MakeAll();
  if (made) return {};
  std::vector<Error> errors = {std::move(made.error())};
  if (Result<void> undone = TearDown(); !undone) errors.push_back(std::move(undone.error()));
  return JoinErrors(errors);
}

Result<Queue> DeviceFixture::Describe(const ForeignDevice& device, uint32_t index) {
  Queue queue;
  if (device.name.empty()) {
    queue.kind = QueueKind::kFile;
  } else {
    ASSIGN_OR_RETURN(queue, DescribeDisk(fs_, name_, index, device.name, device.name));
  }
  queue.fixture = name_;
  queue.index = index;
  queue.path = device.path;
  queue.size_bytes = device.size_bytes;
  return queue;
}

Result<void> DeviceFixture::MakeAll() {
  facts_ = {};
  RETURN_IF_ERROR(MountDebugfs(context_, Who(), &objects_));
  if (params_.Has("scheduler")) {
    RETURN_IF_ERROR(LoadSchedulers(context_, {params_.String("scheduler")}, &objects_));
  }
  for (const ForeignDevice& device : devices_) {
    const auto index = static_cast<uint32_t>(queues_.size());
    if (params_.Has("scheduler") && !device.name.empty()) {
      ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> scheduler,
                       SetScheduler(context_, Who(), device.name, params_.String("scheduler")));
      objects_.Add(std::move(scheduler));
    }
    ASSIGN_OR_RETURN(Queue queue, Describe(device, index));
    queues_.push_back(queue);
    const std::string prefix = queue.Name() + " ";
    facts_.settings.emplace_back(prefix + "path", device.path);
    if (!device.serial.empty()) facts_.settings.emplace_back(prefix + "serial", device.serial);
    if (device.name.empty()) continue;
    AddDiskFacts(fs_, queue, &facts_);
    // Files and devices that are based on bios have no tags.
    if (const auto tags = ReadTagSet(fs_, queue.disk); tags && index == 0) facts_.tags = *tags;
  }
  facts_.tags.shared = false;
  return {};
}

std::unique_ptr<Fixture> Create(std::string name, const ParamValues& params,
                                const FixtureContext& context) {
  return std::make_unique<DeviceFixture>(std::move(name), params, context);
}

}  // namespace

// kFixtures of fixture_table.cc refers to it.
extern const FixtureInfo kDeviceFixtureInfo;
constexpr FixtureInfo kDeviceFixtureInfo = {
    .name = "device",
    .help = "Block devices or files that are there already; read only without a double permission",
    .params = kParams,
    .modules = NoWords,
    .boot_parameters = NoWords,
    .queue_count = PathCount,
    .queue_key = "paths",
    .check = Check,
    .create = Create,
    .needs_kernel = true,
    .foreign = true,
};

}  // namespace blkfair
