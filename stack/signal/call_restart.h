// SPDX-License-Identifier: Apache-2.0
// Decides whether an interrupted system call is made again. Some calls end with EINTR after any signal
// handler, whatever its SA_RESTART says: poll, nanosleep, a futex with a timeout. A program that handles no
// signal never sees that, and must not because of ours. See docs/design/capture.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

// The number of bytes of code before the end of a system call's instruction that identify the call.
inline constexpr size_t kCodeBeforeCallBytes = 32;

// The number that `code` loads for the system call that it ends with; -1 when it does not
// say. Context: signal.
int64_t NumberOfCall(const unsigned char (&code)[kCodeBeforeCallBytes]) noexcept;

// If the signal that the calling handler was called for, and no other, has just ended a system call that can
// as well be made again, changes the context so that it is. To be called with all signals blocked, but those
// of the thread's own faults. `user_context` is the handler's ucontext_t. `was_asleep`: the signal was sent
// to a thread that slept, possibly for long, so a futex with a relative timeout is left interrupted, which
// its callers expect, rather than made to wait for all of the timeout once more. Context: signal.
void RestartInterruptedCall(int signal_number, bool was_asleep, void* user_context) noexcept;

}  // namespace lagwatch::stack
