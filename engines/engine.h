// Engine: how I/O is submitted. One engine belongs to one job and is opened, used and destroyed by
// that job's thread. Calls are per batch. An engine never reads a clock: the job loop stamps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/params.h"
#include "base/queue.h"
#include "base/result.h"
#include "base/stamps.h"

namespace blkfair {

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
  bool direct = true;
  bool writes = false;           // open for writing; otherwise read-only
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
  // < 0: no limit), and stores up to out.size() of them. Returns how many, or -errno.
  virtual int Reap(std::span<IoCompletion> out, uint32_t min, int64_t timeout_ns) = 0;
};

// A row of the engine table (engines/engine_table.h).
struct EngineInfo {
  std::string_view name;
  std::string_view help;
  IssuePoint issue_point;
  std::string_view issue_doc;  // where exactly issue is stamped: shown in reports and docs
  bool synchronous;            // depth 1 only
  std::span<const ParamSpec> params;
  std::unique_ptr<Engine> (*create)();
  // Whether this kernel and process can run it; kUnmet with the missing piece otherwise.
  Result<void> (*probe)();
};

}  // namespace blkfair
