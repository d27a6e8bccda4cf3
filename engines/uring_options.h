// The switches that the engines on top of io_uring share: their keys, and what they say together.
// Pure functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "engines/engine.h"

namespace blkfair {

inline constexpr ParamSpec kUringParams[] = {
    {.name = "fixed_buffers",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Register the buffers with the ring; needs locked memory"},
    {.name = "registered_files",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Register the file with the ring"},
    {.name = "nonvectored",
     .type = ParamType::kBool,
     .default_text = "true",
     .help = "Requests that name their buffer themselves; false: through an iovec, which needs "
             "fixed_buffers = false"},
    {.name = "hipri",
     .type = ParamType::kBool,
     .default_text = "false",
     .help = "Poll the device for completions (IOPOLL); needs a queue with polled hardware queues"},
    {.name = "sqpoll",
     .type = ParamType::kBool,
     .default_text = "false",
     .help = "A kernel thread takes what is enqueued (SQPOLL): no system call submits, and slat is "
             "absent"},
};

struct UringOptions {
  bool fixed_buffers;
  bool registered_files;
  bool nonvectored;
  bool hipri;
  bool sqpoll;
};

UringOptions UringOptionsOf(const ParamValues& params);
// As the members of EngineInfo.
bool UringPinsBuffers(const ParamValues& params);
std::optional<std::string> CheckUringOptions(const ParamValues& params);
IssueRule UringIssue(const ParamValues& params);

}  // namespace blkfair
