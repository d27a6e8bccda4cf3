#include "harness/guest/config_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kmod_setup/fixture_table.h"
#include "scenarios/language/job_forms.h"

namespace blkfair {
namespace {

struct FixedNeed {
  std::string_view symbol;
  bool built_in;
  std::string_view reason;
};

// Of every guest: what it is before the first module can be loaded, and what the harness reads.
constexpr std::array kEveryGuest = {
    FixedNeed{"64BIT", true, "blkfair's own program"},
    FixedNeed{"BINFMT_ELF", true, "blkfair's own program"},
    FixedNeed{"BLK_DEV_INITRD", true, "the guest's files"},
    FixedNeed{"PRINTK", true, "the guest's console"},
    FixedNeed{"SERIAL_8250_CONSOLE", true, "the guest's console"},
    FixedNeed{"PROC_FS", true, "the guest's own state"},
    FixedNeed{"SYSFS", true, "the queues' attributes"},
    FixedNeed{"DEVTMPFS", true, "device nodes"},
    FixedNeed{"FUTEX", true, "threads"},
    FixedNeed{"BLOCK", true, "block devices"},
    FixedNeed{"DEBUG_FS", true, "tag occupancy"},
    FixedNeed{"BLK_DEBUG_FS", true, "tag occupancy"},
};

struct ModuleSymbol {
  std::string_view module;
  std::string_view symbol;
};
constexpr std::array kModuleSymbols = {
    ModuleSymbol{"configfs", "CONFIGFS_FS"},
    ModuleSymbol{"null_blk", "BLK_DEV_NULL_BLK"},
    ModuleSymbol{"nvme", "BLK_DEV_NVME"},
    ModuleSymbol{"nvmet", "NVME_TARGET"},
    ModuleSymbol{"nvme-loop", "NVME_TARGET_LOOP"},
    ModuleSymbol{"mq-deadline", "MQ_IOSCHED_DEADLINE"},
    ModuleSymbol{"kyber-iosched", "MQ_IOSCHED_KYBER"},
    ModuleSymbol{"bfq", "IOSCHED_BFQ"},
    ModuleSymbol{"scsi_debug", "SCSI_DEBUG"},
    ModuleSymbol{"sd_mod", "BLK_DEV_SD"},
    ModuleSymbol{"ublk_drv", "BLK_DEV_UBLK"},
    ModuleSymbol{"virtio_scsi", "SCSI_VIRTIO"},
    ModuleSymbol{"virtio_blk", "VIRTIO_BLK"},
};

void Add(std::string_view symbol, bool built_in, std::string reason,
         std::vector<ConfigNeed>* needs) {
  const bool known = std::any_of(needs->begin(), needs->end(),
                                 [&](const ConfigNeed& need) { return need.symbol == symbol; });
  if (!known) needs->push_back({std::string(symbol), built_in, std::move(reason)});
}

}  // namespace

KernelConfig ParseKernelConfig(std::string_view text) {
  KernelConfig config;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    constexpr std::string_view kPrefix = "CONFIG_";
    constexpr std::string_view kUnset = "# CONFIG_";
    constexpr std::string_view kNotSet = " is not set";
    if (line.starts_with(kUnset) && line.ends_with(kNotSet)) {
      config.erase(
          std::string(line.substr(kUnset.size(), line.size() - kUnset.size() - kNotSet.size())));
      continue;
    }
    const size_t equals = line.find('=');
    if (!line.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    const std::string symbol(line.substr(kPrefix.size(), equals - kPrefix.size()));
    const std::string_view value = line.substr(equals + 1);
    if (value == "n") {
      config.erase(symbol);
    } else {
      config[symbol] = value;
    }
  }
  return config;
}

std::string ConfigSymbolOf(std::string_view module) {
  const auto found = std::find_if(kModuleSymbols.begin(), kModuleSymbols.end(),
                                  [&](const ModuleSymbol& row) { return row.module == module; });
  return found == kModuleSymbols.end() ? std::string() : std::string(found->symbol);
}

std::vector<ConfigNeed> ConfigNeedsOf(const Scenario& scenario) {
  std::vector<ConfigNeed> needs;
  for (const FixedNeed& need : kEveryGuest) {
    Add(need.symbol, need.built_in, std::string(need.reason), &needs);
  }
  for (const FixtureSpec& spec : scenario.fixtures) {
    const FixtureInfo* info = FindFixture(spec.kind);
    CHECK(info != nullptr);  // the reader checked it
    if (info->modules == nullptr) continue;
    for (const std::string& module : info->modules(spec.params)) {
      const std::string symbol = ConfigSymbolOf(module);
      if (!symbol.empty()) Add(symbol, false, "module " + module, &needs);
    }
  }
  for (const JobSpec* job : JobForms(scenario)) {
    if (job->engine.starts_with("io_uring")) Add("IO_URING", true, "engine " + job->engine, &needs);
    if (job->engine == "libaio") Add("AIO", true, "engine libaio", &needs);
  }
  return needs;
}

std::vector<ConfigNeed> MissingNeeds(const KernelConfig& config,
                                     const std::vector<ConfigNeed>& needs, bool has_modules) {
  std::vector<ConfigNeed> missing;
  for (const ConfigNeed& need : needs) {
    const auto found = config.find(need.symbol);
    const bool met =
        found != config.end() && (found->second == "y" || (!need.built_in && has_modules));
    if (!met) missing.push_back(need);
  }
  return missing;
}

std::string ConfigLines(const std::vector<ConfigNeed>& needs) {
  std::string lines;
  for (const ConfigNeed& need : needs) {
    lines += fmt::format("{}CONFIG_{}=y ({})", lines.empty() ? "" : ", ", need.symbol, need.reason);
  }
  return lines;
}

}  // namespace blkfair
