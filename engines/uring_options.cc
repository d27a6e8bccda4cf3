#include "engines/uring_options.h"

namespace blkfair {

UringOptions UringOptionsOf(const ParamValues& params) {
  return {.fixed_buffers = params.Bool("fixed_buffers"),
          .registered_files = params.Bool("registered_files"),
          .nonvectored = params.Bool("nonvectored"),
          .hipri = params.Bool("hipri"),
          .sqpoll = params.Bool("sqpoll")};
}

bool UringPinsBuffers(const ParamValues& params) { return UringOptionsOf(params).fixed_buffers; }

std::optional<std::string> CheckUringOptions(const ParamValues& params) {
  const UringOptions options = UringOptionsOf(params);
  if (!options.nonvectored && options.fixed_buffers) {
    return "fixed buffers have no vectored form: set fixed_buffers = false beside nonvectored = "
           "false";
  }
  return std::nullopt;
}

IssueRule UringIssue(const ParamValues& params) {
  if (UringOptionsOf(params).sqpoll) {
    return {IssuePoint::kAtEnqueue,
            "when the request entered the ring that a kernel thread polls: slat is absent"};
  }
  return {IssuePoint::kAfterSubmit,
          "after the submitting io_uring_enter returned: waiting for a tag is clat"};
}

}  // namespace blkfair
