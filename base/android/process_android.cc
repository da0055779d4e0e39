// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "base/system/process.h"

namespace lagwatch::base {

const bool kCanTryNewCalls = false;

// bionic's sigtimedwait() is of Android 6.
void DropPendingSignals(const sigset_t& signals) {
  const timespec at_once{};
  while (syscall(SYS_rt_sigtimedwait, &signals, nullptr, &at_once, sizeof signals) > 0) {
  }
}

int SetSignalAction(int signal_number, const struct sigaction* action, struct sigaction* previous) {
  return sigaction(signal_number, action, previous);
}

void CallAtQuickExit(void (*function)()) { at_quick_exit(function); }

// Android 8 ends an app that calls membarrier(2).
bool FenceAllThreads() { return false; }
void PrepareFences() {}
bool AreFencesPrepared() { return true; }

}  // namespace lagwatch::base
