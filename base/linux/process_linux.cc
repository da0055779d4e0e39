// SPDX-License-Identifier: Apache-2.0
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "base/system/process.h"

extern "C" int __sigaction(int signal_number, const struct sigaction* action,
                           struct sigaction* previous) noexcept;

namespace lagwatch::base {

const bool kCanTryNewCalls = true;

void DropPendingSignals(const sigset_t& signals) {
  const timespec at_once{};
  while (sigtimedwait(&signals, nullptr, &at_once) > 0) {
  }
}

int SetSignalAction(int signal_number, const struct sigaction* action, struct sigaction* previous) {
  return __sigaction(signal_number, action, previous);
}

void CallAtQuickExit(void (*function)()) { at_quick_exit(function); }

bool FenceAllThreads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
  // Each process must register before it uses the call.
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
         syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace lagwatch::base
