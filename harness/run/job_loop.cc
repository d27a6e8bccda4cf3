#include "harness/run/job_loop.h"

namespace blkfair {

template class JobLoop<MonotonicClock>;
template class JobLoop<ManualClockView>;

}  // namespace blkfair
