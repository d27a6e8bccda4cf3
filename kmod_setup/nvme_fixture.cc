// The nvme fixture: namespaces of an NVMe controller that is there already, chosen by the
// controller's serial number and nsid, or by a path. They are claimed, read, and left as they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <set>

#include "base/units.h"
#include "kmod_setup/disk.h"
#include "kmod_setup/fixture.h"
#include "kmod_setup/foreign_device.h"
#include "kmod_setup/kernel_objects.h"
#include "kmod_setup/nvme.h"
#include "kmod_setup/nvme_identify.h"
#include "kmod_setup/requirements.h"

namespace blkfair {

namespace {

constexpr std::array kParams = {
    ParamSpec{.name = "namespaces",
              .type = ParamType::kString,
              .shape = ParamShape::kList,
              .required = true,
              .help = "Namespaces of one controller, one queue each: \"SERIAL:NSID\", or a path "
                      "such as /dev/disk/by-id/nvme-..."},
    ParamSpec{.name = "destroy_data",
              .type = ParamType::kBool,
              .default_text = "false",
              .help = "Let jobs write to them, if the command line says --destroy SERIAL or PATH "
                      "as well"},
    ParamSpec{.name = "scheduler",
              .type = ParamType::kChoice,
              .choices = "none|mq-deadline|kyber|bfq",
              .help = "I/O scheduler; as it is unless given"},
};

struct Choice {
  std::string serial;
  uint32_t nsid = 0;
};

// "SERIAL:NSID"; nothing when it is not of that form. A serial number may hold colons.
std::optional<Choice> ParseChoice(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  Choice choice{text.substr(0, colon), 0};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, choice.nsid);
  if (error != std::errc() || rest != end || choice.nsid == 0) return std::nullopt;
  return choice;
}

uint32_t NamespaceCount(const ParamValues& params) {
  return static_cast<uint32_t>(params.Strings("namespaces").size());
}

std::optional<std::string> Check(const ParamValues& params) {
  for (const std::string& text : params.Strings("namespaces")) {
    if (text.starts_with('/') || ParseChoice(text)) continue;
    return fmt::format("'{}' is neither SERIAL:NSID nor an absolute path", text);
  }
  return std::nullopt;
}

std::vector<std::string> NoWords(const ParamValues&) { return {}; }

class NvmeFixture : public Fixture {
 public:
  NvmeFixture(std::string name, const ParamValues& params, const FixtureContext& context)
      : name_(std::move(name)), params_(params), context_(context), fs_(*context.fs) {}

  Result<void> Require() override;
  Result<void> SetUp() override;
  Result<void> TearDown() override {
    queues_.clear();
    members_.clear();
    return objects_.Release();
  }
  const std::vector<Queue>& queues() const override { return queues_; }
  const FixtureFacts& facts() const override { return facts_; }

 private:
  struct Member {
    NvmeController controller;
    NvmeNamespace ns;
    ForeignDevice device;
  };

  Result<Member> Find(const std::string& text) const;
  Result<void> MakeAll();
  Result<void> AddQueue(const Member& member);
  std::string Who() const { return "fixture " + name_; }

  const std::string name_;
  const ParamValues params_;
  const FixtureContext context_;
  KernelFs& fs_;
  KernelObjects objects_;
  std::vector<Member> members_;
  std::vector<Queue> queues_;
  FixtureFacts facts_;
};

Result<NvmeFixture::Member> NvmeFixture::Find(const std::string& text) const {
  const std::optional<Choice> choice = text.starts_with('/') ? std::nullopt : ParseChoice(text);
  ForeignDevice device;
  if (!choice) {
    ASSIGN_OR_RETURN(device, ClaimDevice(fs_, Who(), text));
  }
  std::vector<std::string> serials;
  for (const NvmeController& controller : ListNvmeControllers(fs_)) {
    serials.push_back(controller.serial);
    for (const NvmeNamespace& ns : ListNvmeNamespaces(fs_, controller)) {
      const bool found = choice ? controller.serial == choice->serial && ns.nsid == choice->nsid
                                : ns.node == device.name;
      if (!found) continue;
      if (choice) {
        ASSIGN_OR_RETURN(device, ClaimDevice(fs_, Who(), fs_.roots().dev + "/" + ns.node));
      }
      device.serial = controller.serial;
      return Member{controller, ns, std::move(device)};
    }
  }
  if (!choice) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{} may not use {}: it is no NVMe namespace; a fixture of kind device "
                            "takes any block device",
                            Who(), text));
  }
  return Fail(
      ErrorKind::kUnmet,
      fmt::format("{} needs namespace {} of the NVMe controller with serial {}: this machine "
                  "has {}",
                  Who(), choice->nsid, choice->serial,
                  serials.empty() ? "no NVMe controller"
                                  : fmt::format("those with serial {}, or it has no such "
                                                "namespace",
                                                fmt::join(serials, ", "))));
}

// Claims them already: what is refused must be so before anything is changed for other fixtures.
Result<void> NvmeFixture::Require() {
  constexpr std::array kNeeds = {&kRootRequirement, &kDebugfsRequirement};
  RETURN_IF_ERROR(CheckRequirements(kNeeds, Who(), fs_, *context_.modules));
  if (context_.nvme == nullptr) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("{} uses devices of this machine: use --on host", Who()));
  }
  members_.clear();
  std::set<std::string> controllers;
  for (const std::string& text : params_.Strings("namespaces")) {
    ASSIGN_OR_RETURN(Member member, Find(text));
    if (params_.Bool("destroy_data")) {
      RETURN_IF_ERROR(CheckDestroy(Who(), member.device, context_.destroy));
    }
    controllers.insert(member.controller.name);
    members_.push_back(std::move(member));
  }
  if (controllers.size() <= 1) return {};
  return Fail(
      ErrorKind::kUsage,
      fmt::format("{} names namespaces of {}: those of different controllers share no tags, "
                  "so give each controller a fixture",
                  Who(), fmt::join(controllers, " and ")));
}

Result<void> NvmeFixture::SetUp() {
  Result<void> made = MakeAll();
  if (made) return {};
  std::vector<Error> errors = {std::move(made.error())};
  if (Result<void> undone = TearDown(); !undone) errors.push_back(std::move(undone.error()));
  return JoinErrors(errors);
}

Result<void> NvmeFixture::AddQueue(const Member& member) {
  if (params_.Has("scheduler")) {
    ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> scheduler,
                     SetScheduler(context_, Who(), member.ns.disk, params_.String("scheduler")));
    objects_.Add(std::move(scheduler));
  }
  ASSIGN_OR_RETURN(Queue queue, DescribeDisk(fs_, name_, static_cast<uint32_t>(queues_.size()),
                                             member.ns.disk, member.ns.node));
  queue.nsid = member.ns.nsid;
  ASSIGN_OR_RETURN(const NvmeIdentity identity,
                   context_.nvme->Identify(queue.path, member.ns.nsid));
  if (identity.serial != member.controller.serial) {
    return Fail(ErrorKind::kKernel,
                fmt::format("{} says that its serial number is {} where sysfs says {}", queue.path,
                            identity.serial, member.controller.serial));
  }
  const std::string prefix = queue.Name() + " ";
  facts_.settings.emplace_back(prefix + "disk", queue.disk);
  facts_.settings.emplace_back(prefix + "path", queue.path);
  facts_.settings.emplace_back(prefix + "nsid", std::to_string(queue.nsid));
  facts_.settings.emplace_back(prefix + "blocks", std::to_string(identity.size_blocks));
  std::string formats;
  for (const NvmeLbaFormat& format : identity.formats) {
    formats += fmt::format("{}{}+{}{}", formats.empty() ? "" : ",", format.data_bytes,
                           format.metadata_bytes, format.in_use ? "*" : "");
  }
  facts_.settings.emplace_back(prefix + "lba_formats", formats);
  facts_.settings.emplace_back(prefix + "mdts",
                               identity.max_transfer_bytes == 0
                                   ? "none"
                                   : FormatSize(static_cast<int64_t>(identity.max_transfer_bytes)));
  AddDiskFacts(fs_, queue, &facts_);
  queues_.push_back(std::move(queue));
  return {};
}

Result<void> NvmeFixture::MakeAll() {
  facts_ = {};
  RETURN_IF_ERROR(MountDebugfs(context_, Who(), &objects_));
  if (params_.Has("scheduler")) {
    RETURN_IF_ERROR(LoadSchedulers(context_, {params_.String("scheduler")}, &objects_));
  }
  AddControllerFacts(fs_, members_.front().controller, &facts_);
  for (const Member& member : members_) RETURN_IF_ERROR(AddQueue(member));
  ASSIGN_OR_RETURN(facts_.tags, ReadTagSet(fs_, queues_.front().disk));
  return {};
}

std::unique_ptr<Fixture> Create(std::string name, const ParamValues& params,
                                const FixtureContext& context) {
  return std::make_unique<NvmeFixture>(std::move(name), params, context);
}

}  // namespace

// kFixtures of fixture_table.cc refers to it.
extern const FixtureInfo kNvmeFixtureInfo;
constexpr FixtureInfo kNvmeFixtureInfo = {
    .name = "nvme",
    .help =
        "Namespaces of an NVMe controller that is there already; read only without a double "
        "permission",
    .params = kParams,
    .modules = NoWords,
    .boot_parameters = NoWords,
    .queue_count = NamespaceCount,
    .queue_key = "namespaces",
    .check = Check,
    .create = Create,
    .needs_kernel = true,
    .foreign = true,
};

}  // namespace blkfair
