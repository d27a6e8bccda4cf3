// Boots one guest image and watches it to its end: sign of life, progress, frames, panics, time
// limits, interruption. Knows nothing of what the guest does. Called by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/guest/frame.h"
#include "harness/guest/guest.h"

namespace blkfair {

struct BootOptions {
  Kernel kernel;
  GuestTime time = GuestTime::kVirtual;
  GuestSpec shape;
  std::vector<std::string> boot_words;
  std::vector<std::string> qemu_arguments;  // devices beyond the machine itself
  std::string initrd;
  std::string work_folder;
  std::string console_file;
  Journal* journal = nullptr;  // may be null
  // Processor time that QEMU may take; the wall may see twice that, since other work shares it.
  int64_t limit_ns = 0;
  std::function<bool()> interrupted;                 // may be null
  std::function<void(const RunProgress&)> progress;  // may be null
};

enum class BootEnd : uint8_t {
  kFinished,    // init said that it reached its end
  kDied,        // the guest did not: panic, hang, QEMU gone, no life
  kNotStarted,  // QEMU could not be run at all
  kInterrupted,
};

struct BootOutcome {
  BootEnd end = BootEnd::kDied;
  // Why it died, in one sentence and the last console lines; or what the guest's kernel complained
  // about although init went on to its end. Empty when all is well.
  std::string why;
  std::vector<Frame> frames;
  std::vector<std::string> failed_boots;  // one sentence per boot without a sign of life
  std::vector<std::string> qemu_arguments;
};

// A boot that shows no life is tried again, three boots in all; its console is kept beside the
// console file.
BootOutcome BootGuest(const BootOptions& options);

// "blkfair: at 2/3 1500/2000 contention" -> the progress it tells; false for any other line.
bool ParseProgressLine(std::string_view line, RunProgress* progress);

// What a line of the console says about the kernel's health.
enum class ConsoleSign : uint8_t { kNothing, kAlive, kComplaint, kPanic };
ConsoleSign ReadConsoleLine(std::string_view line);

}  // namespace blkfair
