// SPDX-License-Identifier: Apache-2.0
// The calls by which a program changes how its threads are scheduled: a report names the last one that
// changed its thread. Compiled without exceptions: see thread_waits.cc.
#include "sdk/preload/schedule_hooks.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/system/float_environment.h"
#include "base/system/thread.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/watch/process_watch.h"
#include "watchdog/facts/schedule_changes.h"

namespace {

using lagwatch::sdk::NextFunction;

constinit NextFunction<int(int, id_t, int)> g_setpriority("setpriority");
constinit NextFunction<int(int)> g_nice("nice");
constinit NextFunction<int(pid_t, int, const sched_param*)> g_sched_setscheduler("sched_setscheduler");
constinit NextFunction<int(pid_t, const sched_param*)> g_sched_setparam("sched_setparam");
constinit NextFunction<int(pid_t, size_t, const cpu_set_t*)> g_sched_setaffinity("sched_setaffinity");
constinit NextFunction<int(pthread_t, int, const sched_param*)> g_pthread_setschedparam(
    "pthread_setschedparam");
constinit NextFunction<int(pthread_t, int)> g_pthread_setschedprio("pthread_setschedprio");
constinit NextFunction<int(pthread_t, size_t, const cpu_set_t*)> g_pthread_setaffinity(
    "pthread_setaffinity_np");

// Before main(): see NextFunction.
[[gnu::constructor]] void FindScheduleCalls() {
  lagwatch::sdk::FindAll(g_setpriority, g_nice, g_sched_setscheduler, g_sched_setparam, g_sched_setaffinity,
                         g_pthread_setschedparam, g_pthread_setschedprio, g_pthread_setaffinity);
}

// The kernel's id of a thread of the C library's is part of its clock's: clock_getcpuclockid(3). -1: it has
// ended.
int32_t TidOf(pthread_t thread) {
  if (pthread_equal(thread, pthread_self()) != 0) return 0;
  clockid_t clock = 0;
  return pthread_getcpuclockid(thread, &clock) == 0 ? static_cast<int32_t>(~(clock >> 3)) : -1;
}

}  // namespace

void lagwatch::sdk::NoteScheduling(const char* call, int32_t tid, const void* return_address) {
  const int error = errno;
  const lagwatch::base::ScopedFloatEnvironment floats;
  if (lagwatch::sdk::OwnsMemory()) {
    const int32_t own_tid = lagwatch::base::CurrentThreadId();
    lagwatch::watchdog::ProcessScheduleChanges().Note(
        {.call = call,
         .return_address = reinterpret_cast<uint64_t>(return_address),
         .mono_ns = lagwatch::base::SystemClock().MonoNs(),
         .tid = tid == 0 ? own_tid : tid,
         .caller_tid = own_tid});
  }
  errno = error;
}

#define LAGWATCH_HOOK __attribute__((visibility("default")))
// To be used in the hook itself.
#define LAGWATCH_NOTE(name, tid) lagwatch::sdk::NoteScheduling(name, tid, __builtin_return_address(0))

extern "C" {

LAGWATCH_HOOK int setpriority(__priority_which_t which, id_t id, int priority) noexcept {
  const int result = g_setpriority(static_cast<int>(which), id, priority);
  if (result == 0 && which == PRIO_PROCESS) LAGWATCH_NOTE("setpriority", static_cast<int32_t>(id));
  return result;
}

LAGWATCH_HOOK int nice(int increment) noexcept {
  const int error = errno;
  errno = 0;
  const int result = g_nice(increment);
  // -1 is a nice value, too.
  if (result != -1 || errno == 0) LAGWATCH_NOTE("nice", 0);
  if (errno == 0) errno = error;
  return result;
}

LAGWATCH_HOOK int sched_setscheduler(pid_t tid, int policy, const sched_param* parameters) noexcept {
  const int result = g_sched_setscheduler(tid, policy, parameters);
  if (result != -1) LAGWATCH_NOTE("sched_setscheduler", tid);
  return result;
}

LAGWATCH_HOOK int sched_setparam(pid_t tid, const sched_param* parameters) noexcept {
  const int result = g_sched_setparam(tid, parameters);
  if (result == 0) LAGWATCH_NOTE("sched_setparam", tid);
  return result;
}

LAGWATCH_HOOK int sched_setaffinity(pid_t tid, size_t size_bytes, const cpu_set_t* processors) noexcept {
  const int result = g_sched_setaffinity(tid, size_bytes, processors);
  if (result == 0) LAGWATCH_NOTE("sched_setaffinity", tid);
  return result;
}

LAGWATCH_HOOK int pthread_setschedparam(pthread_t thread, int policy,
                                        const sched_param* parameters) noexcept {
  const int error = g_pthread_setschedparam(thread, policy, parameters);
  if (error == 0) LAGWATCH_NOTE("pthread_setschedparam", TidOf(thread));
  return error;
}

LAGWATCH_HOOK int pthread_setschedprio(pthread_t thread, int priority) noexcept {
  const int error = g_pthread_setschedprio(thread, priority);
  if (error == 0) LAGWATCH_NOTE("pthread_setschedprio", TidOf(thread));
  return error;
}

LAGWATCH_HOOK int pthread_setaffinity_np(pthread_t thread, size_t size_bytes,
                                         const cpu_set_t* processors) noexcept {
  const int error = g_pthread_setaffinity(thread, size_bytes, processors);
  if (error == 0) LAGWATCH_NOTE("pthread_setaffinity_np", TidOf(thread));
  return error;
}

}  // extern "C"
