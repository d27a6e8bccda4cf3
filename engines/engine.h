// Engine: how I/O is submitted. One engine belongs to one job and is opened, used and destroyed by
// that job's thread. Calls are per batch. An engine never reads a clock: the job loop stamps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/params.h"
#include "base/queue.h"
#include "base/result.h"
#include "base/stamps.h"

namespace blkfair {

// Of a job that trims every request is a trim, and its direction kWrite: it changes data.
enum class Direction : uint8_t { kRead = 0, kWrite = 1 };
inline constexpr size_t kDirections = 2;

// One request. `slot` is 0..iodepth-1: it names the buffer, and comes back in the completion.
struct IoOp {
  uint64_t offset_bytes;
  uint32_t length_bytes;
  uint16_t slot;
  Direction direction;
};
static_assert(std::is_trivially_copyable_v<IoOp> && sizeof(IoOp) == 16);

struct IoCompletion {
  uint32_t slot;
  int32_t result;  // bytes moved, or -errno
};

class SimPort;  // engines/sim_device.h

struct EngineOpenArgs {
  const Queue* queue = nullptr;
  uint32_t iodepth = 1;
  uint32_t bs_bytes = 4096;  // the length of every request
  bool direct = true;
  bool writes = false;           // open for writing; otherwise read-only
  bool trims = false;            // every request is a trim
  std::span<std::byte> buffers;  // iodepth * buffer_stride bytes, page aligned
  size_t buffer_stride = 0;      // slot i's buffer starts at i * buffer_stride
  const ParamValues* params = nullptr;
  SimPort* sim = nullptr;  // engine sim only: the job's own port
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Takes all memory and descriptors. kUnmet when the kernel lacks what the engine needs, naming
  // it.
  virtual Result<void> Open(const EngineOpenArgs& args) = 0;

  // Hands up to ops.size() requests to the kernel, in order. Returns how many were taken (>= 1), 0
  // if none can be taken before something is reaped, or -errno when the first one was refused: it
  // then counts as completed with that error. Synchronous engines take exactly one.
  virtual int Submit(std::span<const IoOp> ops) = 0;

  // Waits until at least `min` completions are there or `timeout_ns` has passed (0: do not wait;
  // < 0: no limit), and stores up to out.size() of them. Returns how many, or -errno. May return
  // early with fewer.
  virtual int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) = 0;

  // After the drain of a job that wrote through the page cache: writes back what is left in it. 0,
  // or -errno of a write that failed since the target was opened.
  virtual int Sync() { return 0; }
};

// What of a job decides which code does its I/O.
struct EngineUse {
  const ParamValues& params;
  bool trims = false;  // every request is a trim, which the engine carries out itself
};

// Where the I/Os of a job count as issued.
struct IssueRule {
  IssuePoint point;
  std::string_view doc;  // exactly where: shown in reports and docs
};

// A row of the engine table (engines/engine_table.h).
struct EngineInfo {
  std::string_view name;
  std::string_view help;
  // Engines differ in it, and some of their switches move it: clat can be compared only between
  // jobs that have the same rule.
  IssueRule (*issue)(const ParamValues& params);
  bool synchronous;          // depth 1 only
  bool direct_only = false;  // knows no page cache
  // Through the page cache its submitting call does the whole I/O: depth 1 in effect.
  bool synchronous_buffered = false;
  // The ways of trimming that there are beside it: EngineUse::trims, and engines/discard.h.
  bool trims_async = false;
  bool trims_by_ioctl = true;
  std::span<const ParamSpec> params;
  // Whether these values register the buffers, which locks them in memory. Null: never.
  bool (*pins_buffers)(const ParamValues& params) = nullptr;
  // An impossible combination of them, as one sentence; empty when fine. May be null.
  std::optional<std::string> (*check)(const ParamValues& params) = nullptr;
  std::unique_ptr<Engine> (*create)(const EngineUse& use);
  // Whether this kernel and process can run it; kUnmet with the missing piece otherwise. What
  // depends on the queue too is found out by Open.
  Result<void> (*probe)();
};

}  // namespace blkfair
