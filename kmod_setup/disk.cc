#include "kmod_setup/disk.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <sstream>

#include "base/fd.h"
#include "kmod_setup/tag_set.h"

namespace blkfair {

namespace {

constexpr int64_t kPauseNs = 10'000'000;
constexpr int kTries = 1000;  // 10 s

std::string SysDir(const KernelFs& fs, const std::string& disk) {
  return fmt::format("{}/block/{}", fs.roots().sys, disk);
}

}  // namespace

Result<void> WaitUntil(const FixtureContext& context, const std::string& what,
                       const std::function<bool()>& there) {
  for (int i = 0; i < kTries; i++) {
    if (there()) return {};
    if (!context.sleep(kPauseNs)) {
      return Fail(ErrorKind::kInterrupted, fmt::format("{}: interrupted", what));
    }
  }
  return Fail(ErrorKind::kKernel, fmt::format("{}: it did not appear within 10 s", what));
}

Result<void> WaitForNode(const FixtureContext& context, const std::string& path) {
  return WaitUntil(context, fmt::format("open {} (is devtmpfs mounted?)", path),
                   [&path] { return OpenFile(path, O_RDONLY).has_value(); });
}

Result<void> ExpectText(const KernelFs& fs, const std::string& path, const std::string& wanted) {
  ASSIGN_OR_RETURN(const std::string is, fs.ReadLine(path));
  if (is == wanted) return {};
  return Fail(
      ErrorKind::kKernel,
      fmt::format("{} is {} where {} was asked: the kernel did not take it", path, is, wanted));
}

tl::unexpected<Error> Mismatch(std::string_view what, std::string_view disk, int64_t is,
                               int64_t wanted) {
  return Fail(ErrorKind::kKernel,
              fmt::format("{} of {} is {} where {} was asked: the kernel did not take it", what,
                          disk, is, wanted));
}

std::string SchedulerModule(const std::string& scheduler) {
  if (scheduler == "none") return {};
  return scheduler == "kyber" ? "kyber-iosched" : scheduler;
}

Result<void> LoadSchedulers(const FixtureContext& context,
                            const std::vector<std::string>& schedulers, KernelObjects* objects) {
  for (const std::string& scheduler : schedulers) {
    const std::string module = SchedulerModule(scheduler);
    if (module.empty() || !context.modules->Available(module)) continue;  // built in, or missing
    RETURN_IF_ERROR(objects->LoadModule(context, module, {}));
  }
  return {};
}

Result<std::unique_ptr<SavedAttr>> SetScheduler(const FixtureContext& context, std::string_view who,
                                                const std::string& disk,
                                                const std::string& wanted) {
  const std::string path = SysDir(*context.fs, disk) + "/queue/scheduler";
  ASSIGN_OR_RETURN(const std::string offered, context.fs->Read(path));
  std::istringstream words(offered);
  bool found = false;
  for (std::string word; words >> word;) found |= word == wanted || word == "[" + wanted + "]";
  if (!found) {
    return Fail(ErrorKind::kUnmet, fmt::format("{} needs the scheduler {}: this kernel has neither "
                                               "built it in nor a module of it",
                                               who, wanted));
  }
  return SavedAttr::Create(context, path, wanted);
}

Result<void> MountConfigfs(const FixtureContext& context, KernelObjects* objects) {
  ASSIGN_OR_RETURN(std::unique_ptr<Mount> configfs,
                   Mount::Create(context, "configfs", context.fs->roots().configfs));
  objects->Add(std::move(configfs));
  return {};
}

Result<void> MountDebugfs(const FixtureContext& context, std::string_view who,
                          KernelObjects* objects) {
  const std::string& root = context.fs->roots().debugfs;
  ASSIGN_OR_RETURN(std::unique_ptr<Mount> debugfs, Mount::Create(context, "debugfs", root));
  objects->Add(std::move(debugfs));
  if (context.fs->Exists(root + "/block")) return {};
  return Fail(ErrorKind::kUnmet, fmt::format("{} needs block debugfs to see who holds the tags: "
                                             "this kernel has none (CONFIG_BLK_DEBUG_FS)",
                                             who));
}

Result<Queue> DescribeDisk(const KernelFs& fs, const std::string& fixture, uint32_t index,
                           const std::string& disk, const std::string& node) {
  const std::string sys = SysDir(fs, disk);
  Queue queue;
  queue.fixture = fixture;
  queue.index = index;
  queue.kind = QueueKind::kBlock;
  queue.disk = disk;
  queue.path = fs.roots().dev + "/" + node;
  ASSIGN_OR_RETURN(const int64_t sectors, fs.ReadInt(sys + "/size"));
  queue.size_bytes = static_cast<uint64_t>(sectors * kSectorBytes);
  ASSIGN_OR_RETURN(const int64_t block, fs.ReadInt(sys + "/queue/logical_block_size"));
  queue.logical_block_bytes = static_cast<uint32_t>(block);
  // dma_alignment is a mask (Documentation/ABI/stable/sysfs-block); without it a block is safe.
  const int64_t mask = fs.ReadInt(sys + "/queue/dma_alignment").value_or(block - 1);
  queue.dma_alignment_bytes = static_cast<uint32_t>(mask + 1);
  const int64_t max_kb = fs.ReadInt(sys + "/queue/max_sectors_kb").value_or(0);
  queue.max_transfer_bytes = static_cast<uint64_t>(max_kb * 1024);
  return queue;
}

Result<TagSetFacts> ReadTagSet(const KernelFs& fs, const std::string& disk) {
  ASSIGN_OR_RETURN(const std::vector<MqHctx> hctxs, ReadMqHctxs(fs, disk));
  ASSIGN_OR_RETURN(const HctxFlags flags, ReadHctxFlags(fs, disk, 0));
  ASSIGN_OR_RETURN(const HctxTags tags, ReadHctxTags(fs, disk, 0));
  return TagSetFacts{.shared = flags.tag_queue_shared,
                     .nr_tags = tags.depth + tags.nr_reserved_tags,
                     .nr_reserved_tags = tags.nr_reserved_tags,
                     .nr_hw_queues = static_cast<uint32_t>(hctxs.size())};
}

void AddDiskFacts(const KernelFs& fs, const Queue& queue, FixtureFacts* facts) {
  constexpr std::array kAttributes = {"scheduler",   "nr_requests",    "async_depth",
                                      "io_timeout",  "max_sectors_kb", "nomerges",
                                      "rq_affinity", "wbt_lat_usec",   "iostats"};
  const std::string prefix = queue.Name() + " ";
  for (const char* const attribute : kAttributes) {
    const Result<std::string> text =
        fs.Read(fmt::format("{}/queue/{}", SysDir(fs, queue.disk), attribute));
    if (text) facts->settings.emplace_back(prefix + attribute, ChosenValue(*text));
  }
  const Result<HctxTags> tags = ReadHctxTags(fs, queue.disk, 0);
  if (!tags) return;
  facts->settings.emplace_back(prefix + "nr_tags", std::to_string(tags->nr_tags));
  facts->settings.emplace_back(prefix + "nr_reserved_tags", std::to_string(tags->nr_reserved_tags));
  facts->settings.emplace_back(prefix + "tag_depth", std::to_string(tags->depth));
}

}  // namespace blkfair
