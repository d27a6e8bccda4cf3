#include "harness/run/job_loop_steps.h"

namespace blkfair {

template class JobLoop<MonotonicClock>;
template class JobLoop<TscClock>;
template class JobLoop<ManualClockView>;

}  // namespace blkfair
