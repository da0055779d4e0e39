// SPDX-License-Identifier: Apache-2.0
// The result of a call takes the place of its first argument here, which a handler cannot bring back.
#include "stack/signal/call_restart.h"

namespace lagwatch::stack {

int64_t NumberOfCall(const unsigned char (&)[kCodeBeforeCallBytes]) noexcept { return -1; }
void RestartInterruptedCall(int, bool, void*) noexcept {}

}  // namespace lagwatch::stack
