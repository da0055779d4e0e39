// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

constinit RealFunction<int(pthread_t, void**)> real_join;
constinit RealFunction<int(pthread_barrier_t*)> real_barrier_wait;

int HookJoin(pthread_t thread, void** result) {
  if (!IsRecording()) return real_join(thread, result);
  const auto object = static_cast<uint64_t>(thread);
  const uint64_t begin_ticks = base::ReadTicks();
  int error;
  {
    ScopedWaiter waiter(CallersRegisters(), object);
    error = real_join(thread, result);
  }
  CaptureAfter(CallersRegisters(), CallKind::kJoin, object, begin_ticks);
  return error;
}

int HookBarrierWait(pthread_barrier_t* barrier) {
  if (!IsRecording()) return real_barrier_wait(barrier);
  const uint64_t begin_ticks = base::ReadTicks();
  const int result = real_barrier_wait(barrier);
  // The C library identifies so the thread that came last, and woke the others.
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
    CaptureWake(CallersRegisters(), CallKind::kBarrier, ObjectOf(barrier), begin_ticks);
  } else {
    CaptureAfter(CallersRegisters(), CallKind::kBarrier, ObjectOf(barrier), begin_ticks);
  }
  return result;
}

}  // namespace

void AddThreadHooks(HookTable* table) {
  table->Add(kLockHooks, "pthread_join", HookJoin, &real_join);
  table->Add(kLockHooks, "pthread_barrier_wait", HookBarrierWait, &real_barrier_wait);
}

}  // namespace lagwatch::trace
