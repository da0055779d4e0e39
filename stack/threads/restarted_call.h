// SPDX-License-Identifier: Apache-2.0
// A wait that was interrupted once (by SIGSTOP and SIGCONT, a freezer of control groups, a debugger, a stop
// of lagwatch's own) goes on as restart_syscall(2), which says nothing of the call that it continues. That
// call's arguments are still in the registers; only its number is lost.
#pragma once

#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

// Gives `blocked`, of thread `tid`, the number of the call that it continues; unchanged where it continues
// none, or where nothing says which. Context: watchdog.
void NameRestartedCall(int tid, BlockedThread* blocked);

}  // namespace lagwatch::stack
