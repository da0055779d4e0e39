// SPDX-License-Identifier: Apache-2.0
#include "base/system/process.h"

namespace lagwatch::base {

void DropPendingSignals(const sigset_t& signals) {
  sigset_t pending;
  for (int number = 1; number < NSIG; ++number) {
    // Asked again each time: sigwait() waits for a signal that another thread has taken.
    const bool is_pending =
        sigismember(&signals, number) == 1 && sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
    int taken = 0;
    if (is_pending) sigwait(&signals, &taken);
  }
}

void CallAtQuickExit(void (*)()) {}

bool FenceAllThreads() { return false; }
void PrepareFences() {}
bool AreFencesPrepared() { return true; }

}  // namespace lagwatch::base
