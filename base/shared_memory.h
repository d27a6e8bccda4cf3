// SharedMemory: memory that this process shares with those that it forks afterwards, at the same
// address in all of them, so that what lies in it may hold pointers into it. Allocated from by one
// thread, before the fork; given back as a whole by the destructor.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace blkfair {

class SharedMemory final : public std::pmr::memory_resource {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() override;

  // Makes every page present in the calling process: a fork leaves shared pages to be faulted in.
  void Populate() const;

 private:
  // Throws std::bad_alloc, as every memory_resource does.
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void*, size_t, size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::vector<std::span<std::byte>> mappings_;
  std::span<std::byte> rest_;  // of the last one
};

}  // namespace blkfair
