// Runs a program of this machine inside a guest and brings its output and exit status back: how
// tests reach a kernel that may be changed and broken. Called by one thread.
#pragma once

#include <string>
#include <vector>

#include "harness/guest/boot.h"
#include "harness/guest/image.h"

namespace blkfair {

struct GuestCommand {
  std::vector<std::string> argv;     // as the guest sees it; no word may hold a newline
  std::vector<ImageFile> files;      // the programs and data that it needs
  std::vector<std::string> modules;  // carried in the image, not loaded
  std::vector<std::string> boot_words;
  std::vector<std::string> qemu_arguments;  // devices beyond the machine itself
  GuestSpec shape;
  int64_t limit_ns = 120'000'000'000;  // on the guest's clock; the host allows more
};

struct GuestCommandOutcome {
  BootEnd end = BootEnd::kDied;
  std::string status;  // "exit 0", "signal 11 (Segmentation fault)", "hang"; empty: never known
  std::string output;  // standard output and error, as far as they got
  std::string why;     // see BootOutcome
};

// An error means that the image could not be built. `options` as for RunInGuest.
Result<GuestCommandOutcome> RunCommandInGuest(const GuestCommand& command,
                                              const GuestOptions& options);

}  // namespace blkfair
