#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "kmod_setup/disk.h"
#include "kmod_setup/fixture_params.h"
#include "kmod_setup/null_blk.h"

namespace blkfair {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

constexpr std::array kParams = {
    ParamSpec{.name = "queues",
              .type = ParamType::kInt,
              .default_text = "2",
              .min = 1,
              .max = 256,
              .help = "Number of devices, one queue each"},
    ParamSpec{.name = "shared_tags",
              .type = ParamType::kBool,
              .default_text = "true",
              .help = "One tag set for all queues; false: each queue has its own"},
    ParamSpec{.name = "depth",
              .type = ParamType::kInt,
              .default_text = "64",
              .min = 1,
              .max = 10240,
              .help = "Tags of each hardware queue"},
    ParamSpec{.name = "hw_queues",
              .type = ParamType::kInt,
              .default_text = "1",
              .min = 1,
              .max = 1024,
              .help = "Hardware queues of a device, at most one for each CPU"},
    ParamSpec{.name = "poll_queues",
              .type = ParamType::kInt,
              .default_text = "0",
              .min = 0,
              .max = 1024,
              .help = "Hardware queues for polling beside the others, as hipri needs them; what is "
                      "polled for takes no service_time"},
    ParamSpec{.name = "shared_tag_bitmap",
              .type = ParamType::kBool,
              .default_text = "false",
              .help = "One set of tags for all hardware queues of the set, as SCSI hosts have"},
    ParamSpec{.name = "service_time",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .default_text = "10us",
              .min = 0,
              .help = "Time from submission to completion of a request, of all queues or of each"},
    ParamSpec{.name = "block_size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "512B",
              .min = 512,
              .max = 4096,
              .help = "Logical block size, a power of two, of all queues or of each"},
    ParamSpec{.name = "size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .default_text = "1GiB",
              .min = static_cast<double>(kMiB),
              .help = "Size in whole MiB, of all queues or of each"},
    ParamSpec{.name = "memory_backed",
              .type = ParamType::kBool,
              .default_text = "false",
              .help = "Keep what is written in memory, so that it can be read again"},
    ParamSpec{.name = "blocking",
              .type = ParamType::kBool,
              .default_text = "false",
              .help = "The driver may sleep in a request; memory_backed implies it"},
    ParamSpec{.name = "discard",
              .type = ParamType::kBool,
              .default_text = "false",
              .help = "Accept discards; needs memory_backed"},
    ParamSpec{.name = "scheduler",
              .type = ParamType::kChoice,
              .shape = ParamShape::kOneOrList,
              .default_text = "none",
              .choices = "none|mq-deadline|kyber|bfq",
              .help = "I/O scheduler, of all queues or of each"},
    ParamSpec{.name = "nr_requests",
              .type = ParamType::kInt,
              .shape = ParamShape::kOneOrList,
              .min = 0,
              .max = 10240,
              .help = "Written to the queue's nr_requests (at least 4); 0 leaves it alone; with "
                      "scheduler none and shared tags it resizes the set for all"},
    ParamSpec{.name = "io_timeout",
              .type = ParamType::kDuration,
              .shape = ParamShape::kOneOrList,
              .min = 1e6,
              .help = "Request timeout in whole milliseconds; below 5 s an idle queue gives its "
                      "share up sooner"},
    ParamSpec{.name = "max_io_size",
              .type = ParamType::kSize,
              .shape = ParamShape::kOneOrList,
              .min = 4096,
              .max = 32.0 * kMiB,
              .help = "Largest request, in whole 4 KiB; without it the kernel's (about 127 KiB): "
                      "larger I/O is split and takes several tags"},
    ParamSpec{.name = "mbps",
              .type = ParamType::kInt,
              .shape = ParamShape::kOneOrList,
              .min = 0,
              .max = 40960,
              .help = "Bandwidth limit of the device in MiB/s; 0 is none"},
};

// The first value of a kOneOrList parameter for which `bad` holds.
template <typename Fn>
std::optional<int64_t> FindBad(const ParamValues& params, std::string_view name, Fn bad) {
  if (!params.Has(name)) return std::nullopt;
  const std::vector<int64_t>& values = params.Ints(name);
  const auto found = std::find_if(values.begin(), values.end(), bad);
  return found == values.end() ? std::nullopt : std::optional(*found);
}

std::optional<std::string> CheckNrRequests(const ParamValues& params) {
  if (!params.Has("nr_requests")) return std::nullopt;
  const int64_t depth = params.Int("depth");
  for (uint32_t i = 0; i < QueueCount(params); i++) {
    const int64_t value = params.IntAt("nr_requests", i);
    if (value > 0 && value < 4) return "nr_requests is at least 4: the kernel takes less for 4";
    if (value > depth && params.StringAt("scheduler", i) == "none") {
      return fmt::format(
          "nr_requests {} is above the depth of {}: without a scheduler the kernel "
          "refuses that",
          value, depth);
    }
  }
  return std::nullopt;
}

}  // namespace

std::span<const ParamSpec> NullBlkParams() { return kParams; }

std::optional<std::string> CheckNullBlkParams(const ParamValues& params) {
  if (auto why = CheckQueueLists(kParams, params)) return why;
  if (const auto bad =
          FindBad(params, "block_size", [](int64_t v) { return (v & (v - 1)) != 0; })) {
    return fmt::format("block_size {} is not a power of two", FormatSize(*bad));
  }
  if (const auto bad = FindBad(params, "size", [](int64_t v) { return v % kMiB != 0; })) {
    return fmt::format("size {} is not a whole number of MiB, in which null_blk counts",
                       FormatSize(*bad));
  }
  if (const auto bad =
          FindBad(params, "io_timeout", [](int64_t v) { return v % 1'000'000 != 0; })) {
    return fmt::format("io_timeout {} is not a whole number of milliseconds", FormatDuration(*bad));
  }
  if (const auto bad = FindBad(params, "max_io_size", [](int64_t v) { return v % 4096 != 0; })) {
    return fmt::format("max_io_size {} is not a multiple of 4KiB", FormatSize(*bad));
  }
  if (params.Bool("discard") && !params.Bool("memory_backed")) {
    return "discard needs memory_backed = true";
  }
  return CheckNrRequests(params);
}

bool NullBlkBlocks(const ParamValues& params) {
  return params.Bool("blocking") || params.Bool("memory_backed");
}

std::vector<std::string> NullBlkModules(const ParamValues& params) {
  std::vector<std::string> modules = {kNullBlkModule};
  for (const std::string& scheduler : params.Strings("scheduler")) {
    const std::string module = SchedulerModule(scheduler);
    if (!module.empty() && std::find(modules.begin(), modules.end(), module) == modules.end()) {
      modules.push_back(module);
    }
  }
  return modules;
}

}  // namespace blkfair
