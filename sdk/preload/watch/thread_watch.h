// SPDX-License-Identifier: Apache-2.0
// Finds out which threads are to be watched, and watches them. Throws nothing.
#pragma once

#include "sdk/preload/watch/thread_state.h"

namespace lagwatch::sdk {

// Finds out whether the calling thread is to be watched, and starts the monitor if need be. The caller has
// disabled cancellation. Context: background.
void PrepareThread(HookedThread* waits);

// Whether the calling thread may be watched by its waits that poll nothing: the main thread, and others that
// `--threads` asks for. Context: hot; makes two system calls.
ObjectRole FindObjectRole();

// To be called in a forked child, whose only thread is the main one from now on. Context: background.
void RenewThreadInForkedChild();

}  // namespace lagwatch::sdk
