// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include "base/system/thread.h"

namespace lagwatch::base {

int32_t CurrentThreadId() { return gettid(); }

void NameCurrentThread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace lagwatch::base
