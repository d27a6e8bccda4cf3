#include "kmod_setup/nvme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "kmod_setup/disk.h"

namespace blkfair {

namespace {

constexpr const char* kCore = "nvme-core";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Takes "nvme" or another word and then digits off the front; the number's text, empty when it is
// not there.
std::string TakeNumber(std::string_view* text, std::string_view word) {
  if (!text->starts_with(word)) return {};
  text->remove_prefix(word.size());
  const auto end = std::find_if_not(text->begin(), text->end(), IsDigit);
  std::string number(text->begin(), end);
  text->remove_prefix(number.size());
  return number;
}

// The node of a disk: of "nvme0n1" itself, of the path "nvme0c1n1" that of its head "nvme0n1";
// empty when it is no such name (partitions, "ng0n1").
std::string NodeOf(std::string_view disk) {
  const std::string subsystem = TakeNumber(&disk, "nvme");
  static_cast<void>(TakeNumber(&disk, "c"));
  const std::string head = TakeNumber(&disk, "n");
  if (subsystem.empty() || head.empty() || !disk.empty()) return {};
  return fmt::format("nvme{}n{}", subsystem, head);
}

}  // namespace

std::vector<NvmeController> ListNvmeControllers(const KernelFs& fs) {
  std::vector<NvmeController> controllers;
  const std::string root = fs.roots().sys + "/class/nvme";
  const Result<std::vector<std::string>> names = fs.List(root);
  if (!names) return controllers;
  for (const std::string& name : *names) {
    NvmeController controller;
    controller.name = name;
    controller.dir = root + "/" + name;
    const auto read = [&](const char* attribute) {
      return fs.ReadLine(controller.Attr(attribute)).value_or("");
    };
    controller.serial = read("serial");
    controller.model = read("model");
    controller.firmware = read("firmware_rev");
    controller.nqn = read("subsysnqn");
    controller.transport = read("transport");
    controller.state = read("state");
    controllers.push_back(std::move(controller));
  }
  return controllers;
}

std::optional<NvmeController> FindNvmeBySerial(const KernelFs& fs, std::string_view serial) {
  for (NvmeController& controller : ListNvmeControllers(fs)) {
    if (controller.serial == serial) return std::move(controller);
  }
  return std::nullopt;
}

std::vector<NvmeController> FindNvmeByNqn(const KernelFs& fs, std::string_view nqn) {
  std::vector<NvmeController> found = ListNvmeControllers(fs);
  std::erase_if(found, [nqn](const NvmeController& controller) { return controller.nqn != nqn; });
  return found;
}

std::vector<NvmeNamespace> ListNvmeNamespaces(const KernelFs& fs,
                                              const NvmeController& controller) {
  std::vector<NvmeNamespace> namespaces;
  for (const std::string& disk : fs.List(controller.dir).value_or(std::vector<std::string>())) {
    std::string node = NodeOf(disk);
    if (node.empty()) continue;
    const Result<int64_t> nsid = fs.ReadInt(fmt::format("{}/{}/nsid", controller.dir, disk));
    if (!nsid) continue;
    namespaces.push_back({static_cast<uint32_t>(*nsid), disk, std::move(node)});
  }
  std::sort(namespaces.begin(), namespaces.end(),
            [](const NvmeNamespace& a, const NvmeNamespace& b) { return a.nsid < b.nsid; });
  return namespaces;
}

std::optional<NvmeNamespace> FindNvmeNamespace(const KernelFs& fs, const NvmeController& controller,
                                               uint32_t nsid) {
  for (NvmeNamespace& found : ListNvmeNamespaces(fs, controller)) {
    if (found.nsid == nsid) return std::move(found);
  }
  return std::nullopt;
}

Result<void> LoadNvmeCore(const FixtureContext& context, KernelObjects* objects) {
  if (!context.modules->Available(kCore)) return {};  // built in, or missing: the driver will say
  return objects->LoadModule(context, kCore, {{"multipath", "N"}});
}

Result<Queue> SetUpNvmeQueue(const FixtureContext& context, const NvmeQueueSpec& spec,
                             uint32_t index, uint32_t nsid, KernelObjects* objects) {
  const KernelFs& fs = *context.fs;
  std::optional<NvmeNamespace> found;
  RETURN_IF_ERROR(
      WaitUntil(context, fmt::format("find namespace {} of {}", nsid, spec.controller.name), [&] {
        found = FindNvmeNamespace(fs, spec.controller, nsid);
        return found.has_value();
      }));
  RETURN_IF_ERROR(WaitForNode(context, fs.roots().dev + "/" + found->node));
  ASSIGN_OR_RETURN(std::unique_ptr<SavedAttr> scheduler,
                   SetScheduler(context, "fixture " + spec.fixture, found->disk, spec.scheduler));
  objects->Add(std::move(scheduler));
  ASSIGN_OR_RETURN(Queue queue, DescribeDisk(fs, spec.fixture, index, found->disk, found->node));
  queue.nsid = nsid;
  if (spec.block_bytes != 0 && queue.logical_block_bytes != spec.block_bytes) {
    return Mismatch("the logical block size", found->disk, queue.logical_block_bytes,
                    spec.block_bytes);
  }
  const auto size_bytes = static_cast<int64_t>(queue.size_bytes);
  if (spec.size_bytes != 0 && size_bytes != spec.size_bytes) {
    return Mismatch("the size in bytes", found->disk, size_bytes, spec.size_bytes);
  }
  return queue;
}

void AddControllerFacts(const KernelFs& fs, const NvmeController& controller, FixtureFacts* facts) {
  facts->settings.emplace_back("controller name", controller.name);
  facts->settings.emplace_back("controller serial", controller.serial);
  facts->settings.emplace_back("controller model", controller.model);
  facts->settings.emplace_back("controller firmware", controller.firmware);
  facts->settings.emplace_back("controller transport", controller.transport);
  for (const char* attribute : {"queue_count", "sqsize"}) {
    const Result<std::string> value = fs.ReadLine(controller.Attr(attribute));
    if (value) {
      facts->settings.emplace_back(fmt::format("controller {}", attribute), *value);
    }
  }
}

}  // namespace blkfair
