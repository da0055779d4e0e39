// SPDX-License-Identifier: Apache-2.0
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

// No system call of bionic can be cancelled.
bool CanRepeatCancellableCalls() { return false; }

}  // namespace lagwatch::stack
