// One step of a kernel's build (make, a script of the user's) with its output in a log file. Called
// by one thread; the step dies with it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blkfair {

struct BuildStep {
  std::string what;               // "build the tree": how an error begins
  std::vector<std::string> argv;  // argv[0]: a path, or a name for FindExecutable
  std::string folder;             // where it runs
};

struct BuildWatch {
  std::string log_file;               // appended to
  std::function<bool()> interrupted;  // polled; may be null
  // Told of the last line of the log as it grows; may be null.
  std::function<void(const std::string&)> progress;
};

// kUnmet where the step could not be run at all (a shell's 126 and 127 among it), kKernel where it
// failed: the error has the line of its output that says why. kInterrupted: it and all that it
// started are gone.
Result<void> RunBuildStep(const BuildStep& step, const BuildWatch& watch);

// Of a build's output the line that says best what went wrong: a compiler's first error, or what
// make says, or the last line.
std::string FirstComplaint(std::string_view output);

// How many jobs a make may run at once: one for each CPU that this process may use.
size_t BuildJobs();

}  // namespace blkfair
