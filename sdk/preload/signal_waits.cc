// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/signal_waits.h"

#include <cerrno>

#include "sdk/preload/next_function.h"
#include "sdk/preload/watch/thread_state.h"
#include "stack/capture_signal_owner.h"

namespace {

using lagwatch::sdk::NextFunction;

constinit NextFunction<int(int, const sigset_t*, int)> g_signalfd("signalfd");
constinit NextFunction<int(const sigset_t*, siginfo_t*, const timespec*)> g_sigtimedwait("sigtimedwait");

[[gnu::constructor]] void FindSignalCalls() {
  g_signalfd.Find();
  g_sigtimedwait.Find();
}

[[gnu::always_inline]] inline int Take(const char* name, const sigset_t* set, siginfo_t* info,
                                       const timespec* timeout) {
  const lagwatch::sdk::ObjectCall call{reinterpret_cast<uintptr_t>(__builtin_return_address(0)),
                                       reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), 0,
                                       lagwatch::sdk::ObjectKind::kOrders};
  const bool is_noted = lagwatch::sdk::BeginObjectWait(call);
  const int result = lagwatch::sdk::TakeProgramsSignal(
      info, timeout,
      [set](siginfo_t* taken, const timespec* left) { return g_sigtimedwait(set, taken, left); });
  if (is_noted) lagwatch::sdk::EndObjectWait(call, name);
  return result;
}

}  // namespace

#define LAGWATCH_HOOK __attribute__((visibility("default")))

extern "C" {

LAGWATCH_HOOK int signalfd(int fd, const sigset_t* signals, int flags) {
  const int result = g_signalfd(fd, signals, flags);
  if (result >= 0) lagwatch::stack::CaptureSignalOwner::NoteRead(*signals);
  return result;
}

LAGWATCH_HOOK int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  return Take("sigtimedwait", set, info, timeout);
}

LAGWATCH_HOOK int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return Take("sigwaitinfo", set, info, nullptr);
}

// The C library's does not return whether it was one of ours.
LAGWATCH_HOOK int sigwait(const sigset_t* set, int* signal_number) {
  int taken;
  do {
    taken = Take("sigwait", set, nullptr, nullptr);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0) return errno;
  *signal_number = taken;
  return 0;
}

}  // extern "C"
