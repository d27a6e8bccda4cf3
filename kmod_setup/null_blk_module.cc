#include <fmt/format.h>

#include "kmod_setup/null_blk.h"

namespace blkfair {

namespace {

std::string BoolText(bool value) { return value ? "1" : "0"; }

struct Mismatch {
  std::string name;
  std::string is;
  std::string wanted;
};

// What of the loaded driver differs from what a shared tag set needs. Devices with tags of their
// own say everything in configfs, and can live beside any module parameters.
std::vector<Mismatch> FindMismatches(const ParamValues& params, const KernelFs& fs) {
  std::vector<Mismatch> mismatches;
  if (!params.Bool("shared_tags")) return mismatches;
  for (const auto& [name, wanted] : NullBlkModuleParameters(params)) {
    // These have an attribute in configfs that overrides them.
    if (name == "irqmode" || name == "queue_mode") continue;
    const Result<std::string> is = ReadModuleParameter(fs, kNullBlkModule, name);
    if (is && *is == wanted) continue;
    // A kernel without the parameter does what its value 0 says.
    if (!is && wanted == "0") continue;
    mismatches.push_back({name, is ? *is : "missing", wanted});
  }
  return mismatches;
}

std::string Describe(const std::vector<Mismatch>& mismatches) {
  std::string text;
  for (const Mismatch& mismatch : mismatches) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = {} (needed: {})", mismatch.name, mismatch.is, mismatch.wanted);
  }
  return text;
}

// Whether unloading would take something from somebody.
bool InUse(const KernelFs& fs) {
  if (ModuleUsers(fs, kNullBlkModule) > 0) return true;
  const auto parameter = [&fs](std::string_view name) {
    return ReadModuleParameter(fs, kNullBlkModule, name).value_or("0");
  };
  // Devices that the module made hold data, even if nobody has them open.
  return parameter("memory_backed") == "1" && parameter("nr_devices") != "0";
}

}  // namespace

ModuleParameters NullBlkModuleParameters(const ParamValues& params) {
  // poll_queues is 1 by default and would add a hardware queue; queue_mode 2 is multi-queue,
  // irqmode 2 completes by timer (drivers/block/null_blk/main.c, 6.1 to 7.3).
  ModuleParameters parameters = {{"nr_devices", "0"},
                                 {"poll_queues", std::to_string(params.Int("poll_queues"))},
                                 {"irqmode", "2"},
                                 {"queue_mode", "2"}};
  if (!params.Bool("shared_tags")) return parameters;
  parameters.emplace_back("shared_tags", "1");
  parameters.emplace_back("submit_queues", std::to_string(params.Int("hw_queues")));
  parameters.emplace_back("hw_queue_depth", std::to_string(params.Int("depth")));
  parameters.emplace_back("blocking", BoolText(NullBlkBlocks(params)));
  parameters.emplace_back("shared_tag_bitmap", BoolText(params.Bool("shared_tag_bitmap")));
  return parameters;
}

std::vector<std::string> NullBlkBootParameters(const ParamValues& params) {
  std::vector<std::string> words;
  for (const auto& [name, value] : NullBlkModuleParameters(params)) {
    words.push_back(fmt::format("{}.{}={}", kNullBlkModule, name, value));
  }
  return words;
}

Result<void> RequireNullBlkDriver(const ParamValues& params, const KernelFs& fs) {
  const ModuleState state = GetModuleState(fs, kNullBlkModule);
  if (state == ModuleState::kAbsent) return {};
  const std::vector<Mismatch> mismatches = FindMismatches(params, fs);
  if (mismatches.empty()) return {};
  if (state == ModuleState::kBuiltIn) {
    return Fail(ErrorKind::kUnmet,
                fmt::format("null_blk is built into this kernel, with {}: boot it with {}",
                            Describe(mismatches), fmt::join(NullBlkBootParameters(params), " ")));
  }
  if (!InUse(fs)) return {};
  return Fail(ErrorKind::kUnmet,
              fmt::format("null_blk is loaded and in use, with {}: its tag set cannot be changed; "
                          "remove its devices and unload it, or use --on guest",
                          Describe(mismatches)));
}

Result<void> EnsureNullBlkDriver(const ParamValues& params, const FixtureContext& context,
                                 KernelObjects* objects) {
  RETURN_IF_ERROR(RequireNullBlkDriver(params, *context.fs));
  const bool loaded = GetModuleState(*context.fs, kNullBlkModule) == ModuleState::kLoaded;
  if (loaded && !FindMismatches(params, *context.fs).empty()) {
    ASSIGN_OR_RETURN(std::unique_ptr<UnloadedModule> unloaded,
                     UnloadedModule::Create(context, kNullBlkModule));
    objects->Add(std::move(unloaded));
  }
  RETURN_IF_ERROR(objects->LoadModule(context, kNullBlkModule, NullBlkModuleParameters(params)));
  const std::vector<Mismatch> mismatches = FindMismatches(params, *context.fs);
  if (mismatches.empty()) return {};
  return Fail(ErrorKind::kKernel,
              fmt::format("load module null_blk: it did not take the parameters "
                          "as given, but has {}",
                          Describe(mismatches)));
}

}  // namespace blkfair
