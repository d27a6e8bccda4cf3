// INT, TERM and HUP set a flag that long work polls; a second one of them ends the program the hard
// way. One per process.
#pragma once

namespace blkfair {

class InterruptFlag {
 public:
  static void Install();
  static bool Raised();
};

}  // namespace blkfair
