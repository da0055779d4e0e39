// SPDX-License-Identifier: Apache-2.0
// Who let whom go on: joins the waits of a trace with what ended them. Context: background.
// Design: docs/design/trace_slices.md
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

struct Wake {
  uint32_t waker_thread = 0;  // index into Trace::threads
  int64_t time_ns = 0;        // when it let the other one go on
  uint32_t waiter_thread = 0;
  int64_t wait_begin_ns = 0;
  int64_t wake_ns = 0;  // when the wait was over, never before time_ns
  CallKind call = CallKind::kNone;
  uint64_t object = 0;
};

// Ascending by wake_ns; at most one for each wait. Waits that nobody is known to have ended have none.
//
// A lock (mutex, read-write lock, futex, barrier) was let go by the last thread that did so before the wait
// was over: who unlocks is recorded before the real unlock, who waited after it has the lock, so nobody else
// can have let it go in between, also where a third thread had it meanwhile.
//
// A signal of a condition wakes one of those that wait then, if there are any, and is lost else. So signals
// are taken in their order, and each goes to the wait that ends first of those it falls into; a later one
// cannot have woken it, however long it then took to get the mutex back. One for all goes to all of them.
//
// A post of a semaphore is a token that anybody may take, also one who never waited. So it is the waits that
// are looked at, the last first, and each takes the latest token that is left: the earlier ones went
// elsewhere.
//
// A join was ended by the joined thread's end, where `object` is what that thread recorded or its tid.
std::vector<Wake> FindWakes(const Trace& trace);

}  // namespace lagwatch::trace
