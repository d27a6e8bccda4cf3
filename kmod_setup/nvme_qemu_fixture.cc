// The nvme_qemu fixture: in a guest, an NVMe controller that QEMU emulates, with namespaces that
// share its queues' tags. QEMU gets the controller on its command line; here it is found by its
// serial number, set up and read back. QEMU's side: hw/nvme/ctrl.c and ns.c, block/null.c of 7.2
// and 10.0; the driver's: drivers/nvme/host/pci.c of 6.1 and 6.12.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/units.h"
#include "kmod_setup/disk.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/fixture_params.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/nvme.h"
#include "kmod_setup/requirements.h"

namespace blkfair {

namespace {

constexpr const char* kModule = "nvme";
constexpr size_t kSerialMax = 20;     // bytes of SN in Identify Controller
constexpr int64_t kPageBytes = 4096;  // the controller's least page, in which MDTS counts
constexpr int64_t kMiB = int64_t{1} << 20;

constexpr std::array kParams = {
    ParamSpec{.name = "queues",
              .type = ParamType::kInt,
              .default_text = "2",
              .min = 1,
              .max = 16,
              .help = "Number of namespaces, one queue each; queue 0 is nsid 1"},
    ParamSpec{.name = "io_queues",
              .type = ParamType::kInt,
              .default_text = "1",
              .min = 1,
              .max = 64,
              .help = "I/O queue pairs of the controller, each a hardware queue, at most one for "
                      "each CPU of the guest"},
    ParamSpec{.name = "queue_size",
              .type = ParamType::kInt,
              .default_text = "64",
              .min = 2,
              .max = 2048,
              .help = "Entries of an I/O queue; it has one tag fewer"},
    ParamSpec{.name = "service_time",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .default_text = "0s",
              .min = 0,
              .max = 10e9,
              .help = "Time that QEMU lets pass, on the host's clock, before it completes a "
                      "request, of all namespaces or of each: meant for real time"},
    ParamSpec{.name = "block_size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "512B",
              .min = 512,
              .max = 4096,
              .help = "Logical block size, 512B or 4KiB, of all namespaces or of each"},
    ParamSpec{.name = "size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "1GiB",
              .min = static_cast<double>(kMiB),
              .help = "Size in whole MiB, of all namespaces or of each"},
    ParamSpec{.name = "max_io_size",
              .type = ParamType::kSize,
              .default_text = "512KiB",
              .min = static_cast<double>(kPageBytes),
              .max = static_cast<double>(kMiB),
              .help = "Largest request that the controller takes (MDTS), a power of two"},
    ParamSpec{.name = "scheduler",
              .type = ParamType::kChoice,
              .shape = ParamShape::kOneOrList,
              .default_text = "none",
              .choices = "none|mq-deadline|kyber|bfq",
              .help = "I/O scheduler, of all namespaces or of each"},
};

std::string Serial(const std::string& name) { return fmt::format("{}{}", kObjectPrefix, name); }

std::optional<std::string> Check(const ParamValues& params) {
  if (auto why = CheckQueueLists(kParams, params)) return why;
  for (const int64_t size : params.Ints("block_size")) {
    if (size != 512 && size != 4096) {
      return fmt::format("block_size {} is neither 512B nor 4KiB", FormatSize(size));
    }
  }
  for (const int64_t size : params.Ints("size")) {
    if (size % kMiB != 0) return fmt::format("size {} is not whole MiB", FormatSize(size));
  }
  const int64_t largest = params.Int("max_io_size");
  if (!std::has_single_bit(static_cast<uint64_t>(largest))) {
    return fmt::format("max_io_size {} is not a power of two", FormatSize(largest));
  }
  return std::nullopt;
}

std::vector<std::string> Modules(const ParamValues& params) {
  std::vector<std::string> modules = {kModule};
  for (const std::string& scheduler : params.Strings("scheduler")) {
    std::string module = SchedulerModule(scheduler);
    if (!module.empty()) modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<std::string> BootParameters(const ParamValues& params) {
  return {fmt::format("nvme.io_queue_depth={}", params.Int("queue_size")), kNvmeNoMultipath};
}

std::vector<std::string> QemuArguments(const std::string& name, const ParamValues& params) {
  const std::string id = Serial(name);
  const int mdts = std::countr_zero(static_cast<uint64_t>(params.Int("max_io_size") / kPageBytes));
  std::vector<std::string> arguments = {
      "-device", fmt::format("nvme,id={0},serial={0},max_ioqpairs={1},mdts={2}", id,
                             params.Int("io_queues"), mdts)};
  for (uint32_t i = 0; i < QueueCount(params); i++) {
    const std::string node = fmt::format("{}-{}", id, i + 1);
    arguments.insert(
        arguments.end(),
        {"-blockdev",
         fmt::format("driver=null-co,node-name={},size={},read-zeroes=on,latency-ns={}", node,
                     params.IntAt("size", i), params.IntAt("service_time", i)),
         "-device",
         fmt::format("nvme-ns,drive={},bus={},nsid={},logical_block_size={},physical_block_size={}",
                     node, id, i + 1, params.IntAt("block_size", i),
                     params.IntAt("block_size", i))});
  }
  return arguments;
}

class NvmeQemuFixture : public Fixture {
 public:
  NvmeQemuFixture(std::string name, const ParamValues& params, const FixtureContext& context)
      : name_(std::move(name)), params_(params), context_(context), fs_(*context.fs) {}

  Result<void> Require() override;
  Result<void> SetUp() override;
  Result<void> TearDown() override {
    queues_.clear();
    return objects_.Release();
  }
  const std::vector<Queue>& queues() const override { return queues_; }
  const FixtureFacts& facts() const override { return facts_; }

 private:
  Result<void> MakeAll();
  Result<void> LoadDriver();
  Result<NvmeController> WaitForController();
  Result<void> CheckTags(const Queue& queue);
  bool HasEmulatedController() const;
  std::string Who() const { return "fixture " + name_; }

  const std::string name_;
  const ParamValues params_;
  const FixtureContext context_;
  KernelFs& fs_;
  KernelObjects objects_;
  std::vector<Queue> queues_;
  FixtureFacts facts_;
};

// QEMU's controller is Red Hat's device 0010 (docs/specs/pci-ids).
bool NvmeQemuFixture::HasEmulatedController() const {
  const std::string root = fs_.roots().sys + "/bus/pci/devices";
  for (const std::string& device : fs_.List(root).value_or(std::vector<std::string>())) {
    const std::string dir = root + "/" + device;
    if (fs_.ReadLine(dir + "/vendor").value_or("") == "0x1b36" &&
        fs_.ReadLine(dir + "/device").value_or("") == "0x0010") {
      return true;
    }
  }
  return false;
}

Result<void> NvmeQemuFixture::Require() {
  constexpr std::array kNeeds = {&kRootRequirement, &kNvmeRequirement, &kDebugfsRequirement};
  if (Serial(name_).size() > kSerialMax) {
    return Fail(ErrorKind::kUsage,
                fmt::format("fixture name '{}' is too long: it is part of the controller's serial "
                            "number, which has at most {} characters",
                            name_, kSerialMax));
  }
  if (!HasEmulatedController()) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("{} needs the NVMe controller that QEMU emulates for it, and this "
                            "machine has none: use --on guest",
                            Who()));
  }
  return CheckRequirements(kNeeds, Who(), fs_, *context_.modules);
}

Result<void> NvmeQemuFixture::SetUp() {
  Result<void> made = MakeAll();
  if (made) return {};
  std::vector<Error> errors = {std::move(made.error())};
  if (Result<void> undone = TearDown(); !undone) errors.push_back(std::move(undone.error()));
  return JoinErrors(errors);
}

Result<void> NvmeQemuFixture::LoadDriver() {
  const std::string wanted = std::to_string(params_.Int("queue_size"));
  RETURN_IF_ERROR(LoadNvmeCore(context_, &objects_));
  RETURN_IF_ERROR(objects_.LoadModule(context_, kModule, {{"io_queue_depth", wanted}}));
  RETURN_IF_ERROR(LoadSchedulers(context_, params_.Strings("scheduler"), &objects_));
  RETURN_IF_ERROR(MountDebugfs(context_, Who(), &objects_));
  ASSIGN_OR_RETURN(const std::string depth, ReadModuleParameter(fs_, kModule, "io_queue_depth"));
  facts_.settings.emplace_back("module nvme io_queue_depth", depth);
  if (depth == wanted) return {};
  return Fail(ErrorKind::kUnmet,
              fmt::format("{} needs nvme.io_queue_depth={}, but the driver was loaded or booted "
                          "with {}: boot the kernel with the former",
                          Who(), wanted, depth));
}

Result<NvmeController> NvmeQemuFixture::WaitForController() {
  std::optional<NvmeController> found;
  RETURN_IF_ERROR(WaitUntil(
      context_, fmt::format("find the NVMe controller with serial {}", Serial(name_)), [&] {
        found = FindNvmeBySerial(fs_, Serial(name_));
        return found && found->state == "live";
      }));
  return std::move(*found);
}

Result<void> NvmeQemuFixture::CheckTags(const Queue& queue) {
  ASSIGN_OR_RETURN(facts_.tags, ReadTagSet(fs_, queue.disk));
  const int64_t tags =
      params_.Int("queue_size") - 1;  // a full ring could not be told from an empty
  if (facts_.tags.nr_tags != tags) {
    return Mismatch("nr_tags", queue.disk, facts_.tags.nr_tags, tags);
  }
  if (facts_.tags.nr_hw_queues != params_.Int("io_queues")) {
    return Mismatch("the number of hardware queues", queue.disk, facts_.tags.nr_hw_queues,
                    params_.Int("io_queues"));
  }
  if (facts_.tags.shared != (queues_.size() > 1)) {
    return Mismatch("TAG_QUEUE_SHARED", queue.disk, facts_.tags.shared, queues_.size() > 1);
  }
  return ExpectText(fs_,
                    fmt::format("{}/block/{}/queue/max_hw_sectors_kb", fs_.roots().sys, queue.disk),
                    std::to_string(params_.Int("max_io_size") / 1024));
}

Result<void> NvmeQemuFixture::MakeAll() {
  facts_ = {};
  RETURN_IF_ERROR(LoadDriver());
  ASSIGN_OR_RETURN(const NvmeController controller, WaitForController());
  AddControllerFacts(fs_, controller, &facts_);
  for (uint32_t i = 0; i < QueueCount(params_); i++) {
    const NvmeQueueSpec spec = {.fixture = name_,
                                .controller = controller,
                                .scheduler = params_.StringAt("scheduler", i),
                                .block_bytes = params_.IntAt("block_size", i),
                                .size_bytes = params_.IntAt("size", i)};
    ASSIGN_OR_RETURN(Queue queue, SetUpNvmeQueue(context_, spec, i, i + 1, &objects_));
    queues_.push_back(std::move(queue));
  }
  // Only when all have joined the set: each newcomer may change what the others show.
  for (const Queue& queue : queues_) {
    RETURN_IF_ERROR(CheckTags(queue));
    const std::string prefix = queue.Name() + " ";
    facts_.settings.emplace_back(prefix + "disk", queue.disk);
    facts_.settings.emplace_back(prefix + "service_time",
                                 FormatDuration(params_.IntAt("service_time", queue.index)));
    facts_.settings.emplace_back(prefix + "nsid", std::to_string(queue.nsid));
    AddDiskFacts(fs_, queue, &facts_);
  }
  return {};
}

std::unique_ptr<Fixture> Create(std::string name, const ParamValues& params,
                                const FixtureContext& context) {
  return std::make_unique<NvmeQemuFixture>(std::move(name), params, context);
}

}  // namespace

// kFixtures of fixture_table.cc refers to it.
extern const FixtureInfo kNvmeQemuFixtureInfo;
constexpr FixtureInfo kNvmeQemuFixtureInfo = {
    .name = "nvme_qemu",
    .help = "Namespaces of an NVMe controller that QEMU emulates in the guest",
    .params = kParams,
    .modules = Modules,
    .boot_parameters = BootParameters,
    .queue_count = QueueCount,
    .queue_key = "queues",
    .check = Check,
    .create = Create,
    .needs_kernel = true,
    .qemu_arguments = QemuArguments,
    .time_note =
        "QEMU's NVMe controller works in threads of the host: even in virtual time the "
        "same seed repeats only roughly",
};

}  // namespace blkfair
