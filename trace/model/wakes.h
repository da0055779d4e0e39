// SPDX-License-Identifier: Apache-2.0
// Finds the thread that ended each wait: joins the waits of a trace with the calls that ended them. Context:
// background. Design: docs/design/trace_slices.md
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

struct Wake {
  uint32_t waker_thread = 0;  // index into Trace::threads
  int64_t time_ns = 0;        // when it woke the other one
  uint32_t waiter_thread = 0;
  int64_t wait_begin_ns = 0;
  int64_t wake_ns = 0;  // when the wait was over, never before time_ns
  CallKind call = CallKind::kNone;
  uint64_t object = 0;
};

// Ascending by wake_ns; at most one for each wait. Waits whose end has no known cause have none.
//
// A lock (mutex, read-write lock, futex, barrier) was released by the last thread that did so before the wait
// was over: an unlock is recorded before the real unlock, and the waiter has the lock afterwards, so no other
// thread can have released it in between, even if a third thread had it meanwhile.
//
// A signal of a condition wakes one of the present waiters, if there are any, and is lost otherwise. So
// signals are taken in their order, and each goes to the wait that ends first of those it falls into; a later
// one cannot have woken it, however long it then took to get the mutex back. A broadcast goes to all of them.
//
// A post of a semaphore is a token that any thread may take, also one that never waited. So the waits
// are visited, the last first, and each takes the latest token that is left: the earlier ones were
// taken by other threads.
//
// A join was ended by the joined thread's end, where `object` is the value that that thread recorded,
// or its tid.
std::vector<Wake> FindWakes(const Trace& trace);

}  // namespace lagwatch::trace
