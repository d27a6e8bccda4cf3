// Kernel modules: what is loaded, built in or missing, and loading them. ModuleLoader is the narrow
// interface around libkmod, with a fake in tests/support; its effects are read back through
// KernelFs. Used from the orchestrator's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/kernel_fs.h"
#include "base/result.h"

struct kmod_ctx;

namespace blkfair {

// (name, value) pairs, in the order in which they are handed to the kernel.
using ModuleParameters = std::vector<std::pair<std::string, std::string>>;

// "shared_tags=1 irqmode=2", and back.
std::string FormatModuleParameters(const ModuleParameters& parameters);
ModuleParameters ParseModuleParameters(std::string_view text);

enum class ModuleState : uint8_t {
  kAbsent,  // not loaded, or built in without parameters: /sys/module does not tell these apart
  kLoaded,
  kBuiltIn,
};

class ModuleLoader {
 public:
  virtual ~ModuleLoader() = default;

  // Whether a file of this module exists for the running kernel.
  virtual bool Available(const std::string& name) = 0;
  // The modules that must be loaded before this one, in loading order.
  virtual Result<std::vector<std::string>> Dependencies(const std::string& name) = 0;
  // Loads exactly this module; kUnmet naming it when there is no file of it.
  virtual Result<void> Load(const std::string& name, const ModuleParameters& parameters) = 0;
  // Unloads exactly this module. os_errno is EAGAIN or EBUSY while it is in use.
  virtual Result<void> Unload(const std::string& name) = 0;
};

// libkmod on a modules folder, "/lib/modules/RELEASE"; empty: that of the running kernel. Reads
// compressed modules as libkmod was built to. Ignores the blacklists and install commands of
// modprobe.d: a scenario names what it wants.
class KmodModuleLoader : public ModuleLoader {
 public:
  explicit KmodModuleLoader(const std::string& modules_dir = {});
  ~KmodModuleLoader() override;

  bool Available(const std::string& name) override;
  Result<std::vector<std::string>> Dependencies(const std::string& name) override;
  Result<void> Load(const std::string& name, const ModuleParameters& parameters) override;
  Result<void> Unload(const std::string& name) override;

 private:
  struct ContextCloser {
    void operator()(kmod_ctx* context) const;
  };
  std::string modules_dir_;
  std::unique_ptr<kmod_ctx, ContextCloser> context_;  // null when libkmod found no such folder
};

// A module's name as /sys/module spells it: "kyber-iosched" is "kyber_iosched".
std::string ModuleSysName(std::string_view name);

ModuleState GetModuleState(const KernelFs& fs, std::string_view name);

// A parameter of a loaded or built-in module as /sys/module/NAME/parameters shows it. Booleans are
// "1" or "0", so that they compare with what was written.
Result<std::string> ReadModuleParameter(const KernelFs& fs, std::string_view name,
                                        std::string_view parameter);

// All of them, as they must be given to load the module in the same way again. Unreadable and empty
// ones are left out.
Result<ModuleParameters> ReadModuleParameters(const KernelFs& fs, std::string_view name);

// How many users the kernel counts; 0 for built-in modules.
int64_t ModuleUsers(const KernelFs& fs, std::string_view name);

}  // namespace blkfair
