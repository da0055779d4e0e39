// SPDX-License-Identifier: Apache-2.0
// The sleep of a thread of another process of which no loop is known: whether it is a freeze. Context:
// background. Linux.
#pragma once

#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::sdk {

// Whether no thread idles there: it waits for a lock that another one has; or, in its `is_first_sleep`, which
// was under way at the first look, uninterruptibly, for a disk or a server of files.
bool SleepsWhereNoneIdles(const base::Thread& thread, const stack::BlockedThread& blocked,
                          bool is_first_sleep);

}  // namespace lagwatch::sdk
