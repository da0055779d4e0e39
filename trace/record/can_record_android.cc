// SPDX-License-Identifier: Apache-2.0
#include "trace/record/recorder.h"

namespace lagwatch::trace {

// The first access of a thread to a thread-local variable calls malloc() in a library for Android before 10.
// Threads that capture themselves, in a signal handler or in malloc(), must not do so.
const bool kCanRecord = false;

}  // namespace lagwatch::trace
