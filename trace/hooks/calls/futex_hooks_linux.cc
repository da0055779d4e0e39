// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>

#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

// As many arguments as any system call has; those that the caller did not give hold anything.
constinit RealFunction<long(long, long, long, long, long, long, long)> real_syscall;

template <typename Call>
long WaitForFutex(const CallRegisters& from, uint64_t object, Call call) {
  const uint64_t begin_ticks = base::ReadTicks();
  long result;
  {
    ScopedWaiter waiter(from, object);
    result = call();
  }
  CaptureAfter(from, CallKind::kFutex, object, begin_ticks);
  return result;
}

template <typename Call>
long WakeFutex(const CallRegisters& from, uint64_t object, Call call) {
  const ReleaseWatch watch(object);
  const long woken = call();
  if (woken > 0) watch.CaptureAfter(from, CallKind::kFutex);
  return woken;
}

long HookSyscall(long number, long a, long b, long c, long d, long e, long f) {
  auto call = [=] { return real_syscall(number, a, b, c, d, e, f); };
  if (number != SYS_futex || !IsRecording()) return call();
  switch (b & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return WaitForFutex(CallersRegisters(), static_cast<uint64_t>(a), call);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_REQUEUE:
      return WakeFutex(CallersRegisters(), static_cast<uint64_t>(a), call);
    default:
      return call();
  }
}

}  // namespace

void AddFutexHooks(HookTable* table) { table->Add(kLockHooks, "syscall", HookSyscall, &real_syscall); }

}  // namespace lagwatch::trace
