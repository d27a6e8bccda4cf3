// The nvme_loop fixture: an NVMe target of this kernel over null_blk devices, each with its service
// time, and a connection to it through nvme-loop: NVMe namespaces that share one tag set, without
// hardware, whose time repeats exactly in a guest. The target's configfs tree:
// drivers/nvme/target/configfs.c; the connection: drivers/nvme/host/fabrics.c and target/loop.c;
// seen on 6.12 and 7.3. /dev/nvme-fabrics is written by hand: libnvme would bring OpenSSL and D-Bus
// into the guest's image, and could be neither journaled nor faked.
#include <fmt/format.h>

#include <array>

#include "base/units.h"
#include "kmod_setup/disk.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/fixture_params.h"
#include "kmod_setup/fixture_table.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/nvme.h"
#include "kmod_setup/requirements.h"
#include "kmod_setup/tag_set.h"

namespace blkfair {

namespace {

constexpr const char* kModule = "nvme-loop";
constexpr int64_t kMiB = int64_t{1} << 20;
// The backing devices must never be what limits: more tags than the controller can have.
constexpr int64_t kBackingDepth = 1024;
constexpr int kPortsMax = 256;
constexpr int64_t kIdlePauseNs = 100'000'000;
constexpr int kIdlePolls = 80;  // 8 s; a queue stays active for up to 6 s after its last request

constexpr std::array kParams = {
    ParamSpec{.name = "queues",
              .type = ParamType::kInt,
              .default_text = "2",
              .min = 1,
              .max = 64,
              .help = "Number of namespaces, one queue each; queue 0 is nsid 1"},
    ParamSpec{.name = "io_queues",
              .type = ParamType::kInt,
              .default_text = "1",
              .min = 1,
              .max = 64,
              .help = "I/O queues of the connection, each a hardware queue, at most one for each "
                      "CPU"},
    ParamSpec{.name = "queue_size",
              .type = ParamType::kInt,
              .default_text = "64",
              .min = 16,
              .max = 1024,
              .help = "Entries of an I/O queue; it has one tag fewer, of which one is reserved"},
    ParamSpec{.name = "service_time",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .default_text = "10us",
              .min = 0,
              .help = "Time that the device behind a namespace takes for a request, of all or of "
                      "each"},
    ParamSpec{.name = "block_size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "512B",
              .min = 512,
              .max = 4096,
              .help = "Logical block size, a power of two, of all namespaces or of each"},
    ParamSpec{.name = "size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "1GiB",
              .min = static_cast<double>(kMiB),
              .help = "Size in whole MiB, of all namespaces or of each"},
    ParamSpec{.name = "scheduler",
              .type = ParamType::kChoice,
              .shape = ParamShape::kOneOrList,
              .default_text = "none",
              .choices = "none|mq-deadline|kyber|bfq",
              .help = "I/O scheduler, of all namespaces or of each"},
};

// The values of the null_blk fixture that makes the backing devices.
ParamValues BackingParams(const ParamValues& params) {
  ParamValues backing;
  backing.Set("queues", params.Int("queues"));
  backing.Set("shared_tags", false);
  backing.Set("depth", kBackingDepth);
  backing.Set("hw_queues", int64_t{1});
  backing.Set("poll_queues", int64_t{0});
  backing.Set("shared_tag_bitmap", false);
  backing.Set("service_time", params.Ints("service_time"));
  backing.Set("block_size", params.Ints("block_size"));
  backing.Set("size", params.Ints("size"));
  backing.Set("memory_backed", false);
  backing.Set("blocking", false);
  backing.Set("discard", false);
  backing.Set("scheduler", std::vector<std::string>{"none"});
  return backing;
}

const FixtureInfo& Backing() { return *FindFixture("null_blk"); }

std::optional<std::string> Check(const ParamValues& params) {
  if (auto why = CheckQueueLists(kParams, params)) return why;
  return Backing().check(BackingParams(params));
}

std::vector<std::string> Modules(const ParamValues& params) {
  std::vector<std::string> modules = Backing().modules(BackingParams(params));
  modules.emplace_back(kModule);
  for (const std::string& scheduler : params.Strings("scheduler")) {
    std::string module = SchedulerModule(scheduler);
    if (!module.empty()) modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<std::string> BootParameters(const ParamValues& params) {
  std::vector<std::string> words = Backing().boot_parameters(BackingParams(params));
  words.emplace_back(kNvmeNoMultipath);
  return words;
}

class NvmeLoopFixture : public Fixture {
 public:
  NvmeLoopFixture(std::string name, const ParamValues& params, const FixtureContext& context)
      : name_(std::move(name)), params_(params), context_(context), fs_(*context.fs) {
    backing_ = Backing().create(name_ + "-ns", BackingParams(params_), context_);
  }

  Result<void> Require() override;
  Result<void> SetUp() override;
  Result<void> TearDown() override;
  const std::vector<Queue>& queues() const override { return queues_; }
  const FixtureFacts& facts() const override { return facts_; }

 private:
  Result<void> MakeAll();
  Result<void> BringInTheKernelParts();
  Result<void> MakeTarget();
  Result<void> AddNamespace(const ConfigfsDir& subsystem, const Queue& backing);
  Result<ConfigfsDir*> MakePort();
  Result<NvmeController> Connect();
  Result<void> CheckTags(const NvmeController& controller, const Queue& queue);
  Result<void> WaitUntilIdle();
  void AddFacts(const Queue& queue);

  Result<ConfigfsDir*> MakeDir(const std::string& path);
  std::string Who() const { return "fixture " + name_; }
  std::string Nqn() const { return fmt::format("{}{}", kObjectPrefix, name_); }
  std::string Nvmet() const { return fs_.roots().configfs + "/nvmet"; }

  const std::string name_;
  const ParamValues params_;
  const FixtureContext context_;
  KernelFs& fs_;
  std::unique_ptr<Fixture> backing_;
  KernelObjects objects_;  // released before backing_ is torn down
  std::vector<Queue> queues_;
  FixtureFacts facts_;
};

Result<void> NvmeLoopFixture::Require() {
  constexpr std::array kNeeds = {&kRootRequirement, &kNvmeLoopRequirement, &kConfigfsRequirement,
                                 &kDebugfsRequirement};
  RETURN_IF_ERROR(CheckRequirements(kNeeds, Who(), fs_, *context_.modules));
  return backing_->Require();
}

Result<void> NvmeLoopFixture::SetUp() {
  Result<void> made = MakeAll();
  if (made) return {};
  std::vector<Error> errors = {std::move(made.error())};
  if (Result<void> undone = TearDown(); !undone) errors.push_back(std::move(undone.error()));
  return JoinErrors(errors);
}

Result<void> NvmeLoopFixture::TearDown() {
  queues_.clear();
  std::vector<Error> errors;
  if (Result<void> released = objects_.Release(); !released) {
    errors.push_back(std::move(released.error()));
  }
  if (Result<void> undone = backing_->TearDown(); !undone) {
    errors.push_back(std::move(undone.error()));
  }
  return JoinErrors(errors);
}

Result<ConfigfsDir*> NvmeLoopFixture::MakeDir(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ConfigfsDir> dir, ConfigfsDir::Create(context_, path));
  return objects_.Add(std::move(dir));
}

Result<void> NvmeLoopFixture::BringInTheKernelParts() {
  RETURN_IF_ERROR(LoadNvmeCore(context_, &objects_));
  if (context_.modules->Available(kModule)) {
    RETURN_IF_ERROR(objects_.LoadModule(context_, kModule, {}));
  }
  RETURN_IF_ERROR(LoadSchedulers(context_, params_.Strings("scheduler"), &objects_));
  RETURN_IF_ERROR(MountConfigfs(context_, &objects_));
  return MountDebugfs(context_, Who(), &objects_);
}

Result<void> NvmeLoopFixture::AddNamespace(const ConfigfsDir& subsystem, const Queue& backing) {
  ASSIGN_OR_RETURN(ConfigfsDir * dir,
                   MakeDir(fmt::format("{}/namespaces/{}", subsystem.path(), backing.index + 1)));
  RETURN_IF_ERROR(dir->Set("device_path", backing.path));
  ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> enable,
                   SavedAttr::Create(context_, dir->AttrPath("enable"), "1"));
  objects_.Add(std::move(enable));
  return {};
}

// A port's name is a number, so it cannot carry the prefix of other objects.
Result<ConfigfsDir*> NvmeLoopFixture::MakePort() {
  for (int i = 0; i < kPortsMax; i++) {
    const std::string path = fmt::format("{}/ports/{}{:02x}", Nvmet(), kNvmetPortPrefix, i);
    if (!fs_.Exists(path)) return MakeDir(path);
  }
  return Fail(ErrorKind::kKernel,
              fmt::format("make a port in {}/ports: all {} numbers of blkfair's are taken; blkfair "
                          "clean removes what killed runs left",
                          Nvmet(), kPortsMax));
}

Result<void> NvmeLoopFixture::MakeTarget() {
  ASSIGN_OR_RETURN(ConfigfsDir * subsystem, MakeDir(Nvmet() + "/subsystems/" + Nqn()));
  RETURN_IF_ERROR(subsystem->Set("attr_allow_any_host", "1"));
  for (const Queue& backing : backing_->queues()) {
    RETURN_IF_ERROR(AddNamespace(*subsystem, backing));
  }
  ASSIGN_OR_RETURN(ConfigfsDir * port, MakePort());
  RETURN_IF_ERROR(port->Set("addr_trtype", "loop"));
  // Tells this port from others of the same kind: connecting names it.
  RETURN_IF_ERROR(port->Set("addr_traddr", Nqn()));
  ASSIGN_OR_RETURN(
      std::unique_ptr<ConfigfsLink> link,
      ConfigfsLink::Create(context_, subsystem->path(), port->path() + "/subsystems/" + Nqn()));
  objects_.Add(std::move(link));
  return {};
}

Result<NvmeController> NvmeLoopFixture::Connect() {
  ASSIGN_OR_RETURN(std::unique_ptr<NvmeConnection> connection,
                   NvmeConnection::Create(
                       context_, Nqn(),
                       fmt::format("transport=loop,traddr={},nr_io_queues={},queue_size={}", Nqn(),
                                   params_.Int("io_queues"), params_.Int("queue_size"))));
  objects_.Add(std::move(connection));
  std::vector<NvmeController> found;
  RETURN_IF_ERROR(WaitUntil(context_, fmt::format("find the NVMe controller of {}", Nqn()), [&] {
    found = FindNvmeByNqn(fs_, Nqn());
    return !found.empty() && found.front().state == "live";
  }));
  return std::move(found.front());
}

Result<void> NvmeLoopFixture::CheckTags(const NvmeController& controller, const Queue& queue) {
  ASSIGN_OR_RETURN(facts_.tags, ReadTagSet(fs_, queue.disk));
  // sqsize counts from 0. The tags are as many since 6.12, one more before.
  const int64_t last_entry = params_.Int("queue_size") - 1;
  RETURN_IF_ERROR(ExpectText(fs_, controller.Attr("sqsize"), std::to_string(last_entry)));
  if (facts_.tags.nr_tags != last_entry && facts_.tags.nr_tags != last_entry + 1) {
    return Mismatch("nr_tags", queue.disk, facts_.tags.nr_tags, last_entry);
  }
  if (facts_.tags.nr_hw_queues != params_.Int("io_queues")) {
    return Mismatch("the number of hardware queues", queue.disk, facts_.tags.nr_hw_queues,
                    params_.Int("io_queues"));
  }
  // Even alone a namespace shares them: with the queue for connect commands.
  if (!facts_.tags.shared) return Mismatch("TAG_QUEUE_SHARED", queue.disk, 0, 1);
  return {};
}

// The connect queue of the set can stay counted as a user. What is left when none of the namespaces
// is active is what the set looks like at rest.
Result<void> NvmeLoopFixture::WaitUntilIdle() {
  const std::string& disk = queues_.front().disk;
  for (int i = 0; i < kIdlePolls; i++) {
    ASSIGN_OR_RETURN(const std::optional<uint32_t> users, ReadActiveQueues(fs_, disk));
    facts_.tags.idle_users = users.value_or(0);
    if (facts_.tags.idle_users == 0) return {};
    if (!context_.sleep(kIdlePauseNs)) {
      return Fail(ErrorKind::kInterrupted, "wait until the namespaces are idle: interrupted");
    }
  }
  for (const Queue& queue : queues_) {
    ASSIGN_OR_RETURN(const HctxState state, ReadHctxState(fs_, queue.disk, 0));
    if (state.tag_active) facts_.tags.idle_users--;
  }
  return {};
}

void NvmeLoopFixture::AddFacts(const Queue& queue) {
  const std::string prefix = queue.Name() + " ";
  const Queue& backing = backing_->queues()[queue.index];
  facts_.settings.emplace_back(prefix + "disk", queue.disk);
  facts_.settings.emplace_back(prefix + "nsid", std::to_string(queue.nsid));
  facts_.settings.emplace_back(prefix + "backing", backing.disk);
  for (const auto& [name, value] : backing_->facts().settings) {
    if (name != backing.Name() + " completion_nsec") continue;
    facts_.settings.emplace_back(prefix + "completion_nsec", value);
  }
  AddDiskFacts(fs_, queue, &facts_);
}

Result<void> NvmeLoopFixture::MakeAll() {
  facts_ = {};
  RETURN_IF_ERROR(backing_->SetUp());
  RETURN_IF_ERROR(BringInTheKernelParts());
  RETURN_IF_ERROR(MakeTarget());
  ASSIGN_OR_RETURN(const NvmeController controller, Connect());
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
  for (const Queue& queue : queues_) {
    RETURN_IF_ERROR(CheckTags(controller, queue));
    AddFacts(queue);
  }
  return WaitUntilIdle();
}

std::unique_ptr<Fixture> Create(std::string name, const ParamValues& params,
                                const FixtureContext& context) {
  return std::make_unique<NvmeLoopFixture>(std::move(name), params, context);
}

}  // namespace

// kFixtures of fixture_table.cc refers to it.
extern const FixtureInfo kNvmeLoopFixtureInfo;
constexpr FixtureInfo kNvmeLoopFixtureInfo = {
    .name = "nvme_loop",
    .help = "Namespaces of an NVMe target of this kernel over null_blk, connected by nvme-loop",
    .params = kParams,
    .modules = Modules,
    .boot_parameters = BootParameters,
    .queue_count = QueueCount,
    .queue_key = "queues",
    .check = Check,
    .create = Create,
    .needs_kernel = true,
};

}  // namespace blkfair
