// Frames: how results leave a guest through its second serial port. Each is deflated and carries
// its length and checksum, so that whatever a dying guest leaves behind is told from what it
// finished saying. Written by the guest's init, read by the host. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blkfair {

// Kinds of frame, one per use.
inline constexpr std::string_view kFramePhase = "phase";    // PhaseToJson, when a phase is over
inline constexpr std::string_view kFrameRecord = "record";  // RecordToJson, compact
inline constexpr std::string_view kFrameOutput = "output";  // a piece of a command's output
inline constexpr std::string_view kFrameStatus = "status";  // "exit 0", "signal 11", "hang", ...
inline constexpr std::string_view kFrameEnd = "end";        // init reached its end

struct Frame {
  std::string kind;
  std::string text;
};

// "~bf KIND TEXT_BYTES PACKED_BYTES CRC32\n", the deflated text, "\n". `kind` is lower-case
// letters.
std::string EncodeFrame(std::string_view kind, std::string_view text);

// Finds the frames in a stream that arrives in pieces. What is not a whole frame with the right
// checksum is skipped and counted.
class FrameReader {
 public:
  void Feed(std::string_view bytes) { buffer_.append(bytes); }
  // The stream is over: what looked like the beginning of a frame is now known to be torn.
  void Finish() { finished_ = true; }
  // The next whole frame, or nothing (yet).
  std::optional<Frame> Next();

  uint64_t skipped_bytes() const { return skipped_bytes_; }

 private:
  void Skip(size_t bytes);

  std::string buffer_;
  bool finished_ = false;
  uint64_t skipped_bytes_ = 0;
};

}  // namespace blkfair
