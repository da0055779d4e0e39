// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/signal_waits.h"

#include <cerrno>

#include "sdk/preload/next_function.h"
#include "stack/capture_signal_owner.h"

namespace {

using lagwatch::sdk::NextFunction;

constinit NextFunction<int(int, const sigset_t*, int)> g_signalfd("signalfd");
constinit NextFunction<int(const sigset_t*, siginfo_t*, const timespec*)> g_sigtimedwait("sigtimedwait");

[[gnu::constructor]] void FindSignalCalls() {
  g_signalfd.Find();
  g_sigtimedwait.Find();
}

int Take(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  return lagwatch::sdk::TakeProgramsSignal(info, timeout, [set](siginfo_t* taken, const timespec* left) {
    return g_sigtimedwait(set, taken, left);
  });
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
  return Take(set, info, timeout);
}

LAGWATCH_HOOK int sigwaitinfo(const sigset_t* set, siginfo_t* info) { return Take(set, info, nullptr); }

// The C library's does not return whether it was one of ours.
LAGWATCH_HOOK int sigwait(const sigset_t* set, int* signal_number) {
  int taken;
  do {
    taken = Take(set, nullptr, nullptr);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0) return errno;
  *signal_number = taken;
  return 0;
}

}  // extern "C"
