// What fixtures do with a disk, whoever made it: wait for its node, set and read back its queue,
// and describe it. A disk is named as in /sys/block; of an NVMe multipath device that is the path,
// which has the tags, while the node belongs to the head. Used from the orchestrator's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kmod_setup/fixture.h"
#include "kmod_setup/kernel_objects.h"

namespace blkfair {

inline constexpr int64_t kSectorBytes = 512;  // of /sys/block/DISK/size, whatever the block size

// Calls `there` every 10 ms, for 10 s, until it is true; after that kKernel "`what`: it did not
// appear within 10 s", or kInterrupted.
Result<void> WaitUntil(const FixtureContext& context, const std::string& what,
                       const std::function<bool()>& there);
// Until the node can be opened for reading.
Result<void> WaitForNode(const FixtureContext& context, const std::string& path);

// `path` holds `wanted`; otherwise kKernel, naming both.
Result<void> ExpectText(const KernelFs& fs, const std::string& path, const std::string& wanted);
// What the kernel has where something else was asked: kKernel, naming both.
tl::unexpected<Error> Mismatch(std::string_view what, std::string_view disk, int64_t is,
                               int64_t wanted);

// The module of an I/O scheduler: "kyber" is in kyber-iosched.ko; empty for "none".
std::string SchedulerModule(const std::string& scheduler);
// Brings in the modules of these schedulers, as far as they are modules.
Result<void> LoadSchedulers(const FixtureContext& context,
                            const std::vector<std::string>& schedulers, KernelObjects* objects);
// kUnmet, with `who` ("fixture pair"), when the kernel does not offer it.
Result<std::unique_ptr<SavedAttr>> SetScheduler(const FixtureContext& context, std::string_view who,
                                                const std::string& disk, const std::string& wanted);

// Mounts them where they are not; of debugfs, makes sure that it shows tags: kUnmet otherwise.
Result<void> MountConfigfs(const FixtureContext& context, KernelObjects* objects);
Result<void> MountDebugfs(const FixtureContext& context, std::string_view who,
                          KernelObjects* objects);

// The queue of `disk` as job and engine see it; `node` is the device's name in /dev.
Result<Queue> DescribeDisk(const KernelFs& fs, const std::string& fixture, uint32_t index,
                           const std::string& disk, const std::string& node);

// The tag set that a disk draws from. `shared` is what the kernel says of it.
Result<TagSetFacts> ReadTagSet(const KernelFs& fs, const std::string& disk);

// The disk's name, its queue attributes and its tags, under the queue's name.
void AddDiskFacts(const KernelFs& fs, const Queue& queue, FixtureFacts* facts);

}  // namespace blkfair
