// EngineBench: one engine of the table, opened on something that every machine has (a temporary
// file; a simulated queue; a device that takes every command; nothing at all), and a job loop run
// on it with a witness.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "base/kernel_fs.h"
#include "engines/engine.h"
#include "engines/sim_device.h"
#include "harness/run/job_setup.h"
#include "results/record.h"
#include "tests/conformance/witness.h"

namespace blkfair {

// A row of the suite: an engine with its defaults, or with one switch turned.
struct EngineCase {
  const EngineInfo* info = nullptr;
  std::string turned;  // "with_SWITCH", "without_SWITCH": what is not at its default; or empty
  ParamValues params;
};

std::vector<EngineCase> AllEngineCases();
std::string NameOf(const EngineCase& row);
void PrintTo(const EngineCase& row, std::ostream* out);

class EngineBench {
 public:
  struct Options {
    uint32_t iodepth = 8;  // synchronous engines: 1, whatever is asked
    uint32_t batch_submit = 4;
    uint32_t batch_complete = 1;
    Rw rw = Rw::kRandRead;
    bool open_for_writing = false;
    uint64_t region_bytes = kFileBytes;  // more than the file: reads beyond its end are short
    int64_t ramp_ns = 5'000'000;
    int64_t runtime_ns = 40'000'000;
  };
  static constexpr uint64_t kFileBytes = uint64_t{1} << 20;
  static constexpr uint32_t kBsBytes = 4096;

  // Its file, if the engine has one, is made in `folder`.
  explicit EngineBench(const EngineCase& row, const std::string& folder = ::testing::TempDir());
  ~EngineBench();

  // Whether this engine moves data to and from a file.
  static bool UsesFile(const EngineInfo& info);
  const std::string& path() const { return queue_.path; }

  // Opens the engine as `options` say. Once per bench.
  Result<void> Open(const Options& options);
  Engine* engine() { return engine_.get(); }
  std::span<std::byte> Buffer(uint32_t slot) {
    return buffers_->bytes().subspan(slot * buffers_->stride(), kBsBytes);
  }
  uint32_t iodepth() const { return spec_.iodepth; }
  bool simulated() const { return port_ != nullptr; }

  // Runs a loop on `engine` (the bench's own, or a wrapper of it) until it has drained.
  JobRecord Run(Engine* engine, Witness* witness);
  // What the thread allocated between the start barrier and the end of the drain.
  uint64_t allocations() const { return allocations_; }

 private:
  template <typename ClockT, typename WaitT>
  JobRecord RunLoop(Engine* engine, Witness* witness, ClockT clock, WaitT wait);

  const EngineCase row_;
  Options options_;
  Queue queue_;
  JobSpec spec_;
  SimWorld world_;
  SimPort* port_ = nullptr;
  std::unique_ptr<IoBuffers> buffers_;
  std::unique_ptr<Engine> engine_;
  uint64_t allocations_ = 0;
};

}  // namespace blkfair
