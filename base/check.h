// CHECK: an invariant of the program itself. Always on; prints where and aborts.
#pragma once

namespace blkfair {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace blkfair

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::blkfair::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
