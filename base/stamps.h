// The one rule of time. Each I/O has a start (made), an issue (handed to the kernel) and a
// completion (reaped), each stamped once, as integer nanoseconds of the job's own clock. Latencies
// are differences of stamps and of nothing else, so slat + clat == lat holds for every single I/O
// wherever slat is measured.
#pragma once

#include <cstdint>

namespace blkfair {

// Where an engine's issue stamp is taken. Engines differ in this and in nothing else.
enum class IssuePoint : uint8_t {
  kAfterSubmit,   // when the submitting system call has returned: slat is measured
  kBeforeSubmit,  // just before a synchronous call: slat is absent
  kAtEnqueue,     // when the request entered a ring that the kernel polls: slat is absent
};

constexpr bool HasSlat(IssuePoint point) { return point == IssuePoint::kAfterSubmit; }

struct Stamps {
  int64_t start_ns = 0;
  int64_t issue_ns = 0;
};

struct Latencies {
  int64_t slat_ns;  // meaningless unless HasSlat
  int64_t clat_ns;
  int64_t lat_ns;
};

constexpr Latencies LatenciesOf(const Stamps& stamps, int64_t completion_ns) {
  return {stamps.issue_ns - stamps.start_ns, completion_ns - stamps.issue_ns,
          completion_ns - stamps.start_ns};
}

}  // namespace blkfair
