// SPDX-License-Identifier: Apache-2.0
// Calls of ours that need more stack than the program's thread may have: a coroutine's stack is often
// a few KiB.
#pragma once

namespace lagwatch::sdk {

// Calls `run` in the calling thread, on a stack of 1 MiB that is mapped for the call. `run` must not throw.
// False when there is no memory for the stack. Context: any, a vfork() child included.
bool RunOnFreshStack(void (*run)(void* context), void* context = nullptr);

}  // namespace lagwatch::sdk
