#include "harness/cli/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace blkfair {

namespace {

// What a signal handler may touch.
volatile std::sig_atomic_t g_raised = 0;

void OnSignal(int) { g_raised = 1; }

}  // namespace

void InterruptFlag::Install() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

bool InterruptFlag::Raised() { return g_raised != 0; }

}  // namespace blkfair
