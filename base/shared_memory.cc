#include "base/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

namespace blkfair {

namespace {

// Of what is small. A histogram has one of its own, with hardly a page to spare.
constexpr size_t kMappingBytes = size_t{32} << 10;
constexpr size_t kPageBytes = 4096;

}  // namespace

SharedMemory::~SharedMemory() {
  for (const std::span<std::byte> mapping : mappings_) ::munmap(mapping.data(), mapping.size());
}

// A kernel before 5.14 does not know the request: the pages are then faulted in as they are used.
void SharedMemory::Populate() const {
  for (const std::span<std::byte> mapping : mappings_) {
    static_cast<void>(::madvise(mapping.data(), mapping.size(), MADV_POPULATE_WRITE));
  }
}

void* SharedMemory::do_allocate(size_t bytes, size_t alignment) {
  void* start = rest_.data();
  size_t room = rest_.size();
  if (start == nullptr || std::align(alignment, bytes, start, room) == nullptr) {
    const size_t length =
        std::max(kMappingBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
    void* mapping =
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mappings_.emplace_back(static_cast<std::byte*>(mapping), length);
    start = mapping;
    room = length;
  }
  rest_ = {static_cast<std::byte*>(start) + bytes, room - bytes};
  return start;
}

}  // namespace blkfair
