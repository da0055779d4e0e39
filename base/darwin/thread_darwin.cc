// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "base/system/thread.h"

namespace lagwatch::base {

// The port is the thread's own for as long as it lives, so no right has to be given back.
int32_t CurrentThreadId() { return static_cast<int32_t>(pthread_mach_thread_np(pthread_self())); }

void NameCurrentThread(const char* name) { pthread_setname_np(name); }

size_t ThreadLocalBytes() { return 0; }

}  // namespace lagwatch::base
