// The guest executor's public face: boots a kernel in QEMU, runs one scenario in it, and brings the
// Record out. Owns the QEMU process and the work folder; called by one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/guest/built_kernel.h"
#include "harness/run/run.h"
#include "results/record.h"
#include "scenarios/language/model.h"

namespace blkfair {

// A kernel that can be booted, with the modules that belong to it.
struct Kernel {
  std::string asked;         // what the user said: "debian:6.12", "host", a path
  std::string image;         // path of the bzImage
  std::string release;       // "6.12.117+deb12-amd64"; read from the image's header
  std::string modules_root;  // folder that holds lib/modules/RELEASE; empty: no modules
  std::string config_file;   // empty when unknown
  bool image_only = false;   // named by its image: of its modules nothing is known
  KernelOrigin origin;       // of a kernel that blkfair built; empty for others
};

// "debian:6.1", "debian:6.12", "debian:7", "host", the name of a kernel that blkfair built, a
// bzImage, or a built kernel tree. Fetches and
// caches what is not there yet, one line per step through `say`. kUsage when the words name no
// kernel; kInterrupted once `interrupted` (polled; may be null) says so.
Result<Kernel> ResolveKernel(const std::string& asked,
                             const std::function<void(const std::string&)>& say,
                             const std::function<bool()>& interrupted = {});

// What a guest of this kernel lacks, as the user is told: what it calls missing may be among the
// modules that nobody gave it.
std::string ExplainUnmet(const Kernel& kernel, const std::string& why);

enum class GuestTime : uint8_t { kVirtual, kReal };

struct GuestOptions {
  Kernel kernel;
  GuestTime time = GuestTime::kVirtual;
  uint32_t repeat = 1;          // see RunOptions
  std::string init_executable;  // blkfair-guest
  std::string work_folder;      // made by the caller; everything is written below it
  std::string console_file;     // where the guest's console goes
  Journal* journal = nullptr;   // QEMU is written into it before it starts; may be null
  std::function<bool()> interrupted;
  std::function<void(const RunProgress&)> progress;
};

// Never fails as a call: what went wrong is the Record's outcome (kDied, kError, kInterrupted, with
// the last console lines in outcome_why). Phases that were finished before are in it.
Record RunInGuest(const Scenario& scenario, const std::string& canonical_toml,
                  const GuestOptions& options);

// Whether /dev/kvm can be used by this process and runs a guest's instructions on the CPU.
bool KvmWorks();

}  // namespace blkfair
