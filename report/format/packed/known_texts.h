// SPDX-License-Identifier: Apache-2.0
// Texts that many reports hold, so that a packed batch need not: a report sent alone gets smaller by an
// eighth. Part of the wire format: never changed, only a new version of PackedBatch may have others.
// Context: background; pure.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace lagwatch::report::packed {

inline constexpr std::string_view kKnownTexts[] = {
    // Facts, in the order in which reports have them.
    "rss_bytes", "swap_bytes", "threads", "open_fds", "load_1min_permille", "cpu_pressure_permille",
    "memory_pressure_permille", "memory_full_pressure_permille", "io_pressure_permille",
    "io_full_pressure_permille", "cgroup_memory_bytes", "cgroup_oom_kills", "cgroup_throttled_times",
    "cgroup_throttled_ms", "watchdog_cpu_us", "capture_pause_us", "capture_signals", "scene",
    // Machines, states and names of threads.
    "x86_64", "aarch64", "S", "R", "D", "I", "T", "Z", "main", "ui", "gmain", "gdbus", "dconf worker",
    "lagwatch-tables",
    // Modules.
    "[vdso]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0", "/usr/lib64/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/aarch64-linux-gnu/libc.so.6", "/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
    // Functions at the ends of stacks, and those that wait.
    "_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "clone3", "__clone3",
    "__GI___clone3", "thread_start", "execute_native_thread_routine", "syscall", "poll", "__poll",
    "__GI___poll", "ppoll", "epoll_wait", "select", "read", "__read", "write", "__write", "recvmsg",
    "__recvmsg", "accept", "fsync", "fdatasync", "__futex_abstimed_wait_common",
    "__futex_abstimed_wait_common64", "futex_wait", "__lll_lock_wait", "lll_mutex_lock_optimized",
    "pthread_mutex_lock", "___pthread_mutex_lock", "__pthread_mutex_lock", "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock", "pthread_cond_wait", "___pthread_cond_wait", "pthread_cond_timedwait",
    "___pthread_cond_timedwait", "pthread_cond_clockwait", "__pthread_clockjoin_ex", "clock_nanosleep",
    "__clock_nanosleep", "nanosleep", "__nanosleep", "sem_wait", "malloc", "_int_malloc", "free", "_int_free",
    "g_main_context_iteration", "g_main_loop_run",
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "_ZNSt6thread4joinEv",
    "_ZN8lagwatch4base7Sleeper10SleepUntilEl", "_ZN8lagwatch5stack12TableLibrary3RunEPv",
    "_ZN8lagwatch4base11QuietThread3RunEPv"};

// Each has one place.
consteval bool AreKnownTextsDistinct() {
  for (size_t i = 0; i < std::size(kKnownTexts); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (kKnownTexts[i] == kKnownTexts[k]) return false;
    }
  }
  return true;
}
static_assert(AreKnownTextsDistinct());

}  // namespace lagwatch::report::packed
