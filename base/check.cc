#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace blkfair {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "blkfair: %s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace blkfair
