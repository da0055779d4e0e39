// SPDX-License-Identifier: Apache-2.0
// The wait functions that the preloaded library puts in front of the C library's own. Compiled without
// exceptions: see thread_waits.cc.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <csignal>
#include <type_traits>

#include "sdk/preload/next_function.h"
#include "sdk/preload/watch/thread_state.h"

namespace {

using lagwatch::sdk::FunctionAge;
using lagwatch::sdk::NextFunction;
using lagwatch::sdk::WaitCall;

constinit NextFunction<int(int, epoll_event*, int, int)> g_epoll_wait("epoll_wait");
constinit NextFunction<int(int, epoll_event*, int, int, const sigset_t*)> g_epoll_pwait("epoll_pwait");
constinit NextFunction<int(int, epoll_event*, int, const timespec*, const sigset_t*)> g_epoll_pwait2(
    "epoll_pwait2", FunctionAge::kRecent);
constinit NextFunction<int(pollfd*, nfds_t, int)> g_poll("poll");
constinit NextFunction<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> g_ppoll("ppoll");
constinit NextFunction<int(int, fd_set*, fd_set*, fd_set*, timeval*)> g_select("select");
constinit NextFunction<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> g_pselect(
    "pselect");
constinit NextFunction<int(pollfd*, nfds_t, int, size_t)> g_poll_chk("__poll_chk");
constinit NextFunction<int(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t)> g_ppoll_chk(
    "__ppoll_chk");

[[gnu::constructor]] void FindWaits() {
  lagwatch::sdk::FindAll(g_epoll_wait, g_epoll_pwait, g_epoll_pwait2, g_poll, g_ppoll, g_select, g_pselect,
                         g_poll_chk, g_ppoll_chk);
}

template <typename... A>
int Wait(const WaitCall& call, const NextFunction<int(A...)>& next, std::type_identity_t<A>... arguments) {
  lagwatch::sdk::BeginWait(call);
  const int result = next(arguments...);
  lagwatch::sdk::EndWait(call, next.name(), result >= 0);
  return result;
}

}  // namespace

#define LAGWATCH_WAIT __attribute__((visibility("default")))
// To be used in the wait function itself.
#define LAGWATCH_CALL(set)                                         \
  lagwatch::sdk::WaitCall {                                        \
    set, reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
        reinterpret_cast<uintptr_t>(__builtin_frame_address(0))    \
  }

using lagwatch::sdk::WaitSet;

extern "C" {

LAGWATCH_WAIT int epoll_wait(int fd, epoll_event* events, int max_events, int timeout_ms) {
  return Wait(LAGWATCH_CALL(WaitSet::Epoll(fd)), g_epoll_wait, fd, events, max_events, timeout_ms);
}

LAGWATCH_WAIT int epoll_pwait(int fd, epoll_event* events, int max_events, int timeout_ms,
                              const sigset_t* mask) {
  return Wait(LAGWATCH_CALL(WaitSet::Epoll(fd)), g_epoll_pwait, fd, events, max_events, timeout_ms, mask);
}

LAGWATCH_WAIT int epoll_pwait2(int fd, epoll_event* events, int max_events, const timespec* timeout,
                               const sigset_t* mask) {
  return Wait(LAGWATCH_CALL(WaitSet::Epoll(fd)), g_epoll_pwait2, fd, events, max_events, timeout, mask);
}

LAGWATCH_WAIT int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  return Wait(LAGWATCH_CALL(WaitSet::Poll(fds, count)), g_poll, fds, count, timeout_ms);
}

LAGWATCH_WAIT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return Wait(LAGWATCH_CALL(WaitSet::Poll(fds, count)), g_ppoll, fds, count, timeout, mask);
}

LAGWATCH_WAIT int select(int count, fd_set* reads, fd_set* writes, fd_set* exceptions, timeval* timeout) {
  return Wait(LAGWATCH_CALL(WaitSet::Select(count, reads, writes, exceptions)), g_select, count, reads,
              writes, exceptions, timeout);
}

LAGWATCH_WAIT int pselect(int count, fd_set* reads, fd_set* writes, fd_set* exceptions,
                          const timespec* timeout, const sigset_t* mask) {
  return Wait(LAGWATCH_CALL(WaitSet::Select(count, reads, writes, exceptions)), g_pselect, count, reads,
              writes, exceptions, timeout, mask);
}

// The names of poll and ppoll in programs built with _FORTIFY_SOURCE.
LAGWATCH_WAIT int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t fds_bytes) {
  return Wait(LAGWATCH_CALL(WaitSet::Poll(fds, count)), g_poll_chk, fds, count, timeout_ms, fds_bytes);
}

LAGWATCH_WAIT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                              size_t fds_bytes) {
  return Wait(LAGWATCH_CALL(WaitSet::Poll(fds, count)), g_ppoll_chk, fds, count, timeout, mask, fds_bytes);
}

}  // extern "C"
