// SPDX-License-Identifier: Apache-2.0
// The wait functions that the preloaded library puts in front of the C library's own. Compiled without
// exceptions: see thread_waits.h.
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "sdk/preload/thread_waits.h"

namespace {

// The next definition of a function after ours. The arguments must be passed as the types that
// the function takes.
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}

  // Before main(): a later dlsym(3) would wait for a thread that loads a library, whose constructor may in
  // turn wait for the caller.
  void Find() { function_.store(dlsym(RTLD_NEXT, name_), std::memory_order_relaxed); }

  template <typename... Arguments>
  int operator()(const lagwatch::sdk::WaitCall& call, Arguments... arguments) {
    void* function = function_.load(std::memory_order_relaxed);  // the same value for every thread
    if (function == nullptr) [[unlikely]] {                      // in another library's constructor
      Find();
      function = function_.load(std::memory_order_relaxed);
    }
    if (function == nullptr) {  // an older C library
      errno = ENOSYS;
      return -1;
    }
    lagwatch::sdk::BeginWait(call);
    const int result = reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    lagwatch::sdk::EndWait(name_, result >= 0);
    return result;
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};

constinit Next g_epoll_wait("epoll_wait");
constinit Next g_epoll_pwait("epoll_pwait");
constinit Next g_epoll_pwait2("epoll_pwait2");
constinit Next g_poll("poll");
constinit Next g_ppoll("ppoll");
constinit Next g_select("select");
constinit Next g_pselect("pselect");
constinit Next g_poll_chk("__poll_chk");
constinit Next g_ppoll_chk("__ppoll_chk");

[[gnu::constructor]] void FindWaits() {
  for (Next* next : {&g_epoll_wait, &g_epoll_pwait, &g_epoll_pwait2, &g_poll, &g_ppoll, &g_select, &g_pselect,
                     &g_poll_chk, &g_ppoll_chk})
    next->Find();
}

}  // namespace

#define LAGWATCH_WAIT __attribute__((visibility("default")))
// In the wait function itself.
#define LAGWATCH_CALL(set)                                         \
  lagwatch::sdk::WaitCall {                                        \
    set, reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
        reinterpret_cast<uintptr_t>(__builtin_frame_address(0))    \
  }

using lagwatch::sdk::WaitSet;

extern "C" {

LAGWATCH_WAIT int epoll_wait(int fd, epoll_event* events, int max_events, int timeout_ms) {
  return g_epoll_wait(LAGWATCH_CALL(WaitSet::Epoll(fd)), fd, events, max_events, timeout_ms);
}

LAGWATCH_WAIT int epoll_pwait(int fd, epoll_event* events, int max_events, int timeout_ms,
                              const sigset_t* mask) {
  return g_epoll_pwait(LAGWATCH_CALL(WaitSet::Epoll(fd)), fd, events, max_events, timeout_ms, mask);
}

LAGWATCH_WAIT int epoll_pwait2(int fd, epoll_event* events, int max_events, const timespec* timeout,
                               const sigset_t* mask) {
  return g_epoll_pwait2(LAGWATCH_CALL(WaitSet::Epoll(fd)), fd, events, max_events, timeout, mask);
}

LAGWATCH_WAIT int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  return g_poll(LAGWATCH_CALL(WaitSet::Poll(fds, count)), fds, count, timeout_ms);
}

LAGWATCH_WAIT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return g_ppoll(LAGWATCH_CALL(WaitSet::Poll(fds, count)), fds, count, timeout, mask);
}

LAGWATCH_WAIT int select(int count, fd_set* reads, fd_set* writes, fd_set* exceptions, timeval* timeout) {
  return g_select(LAGWATCH_CALL(WaitSet::Select(count, reads, writes, exceptions)), count, reads, writes,
                  exceptions, timeout);
}

LAGWATCH_WAIT int pselect(int count, fd_set* reads, fd_set* writes, fd_set* exceptions,
                          const timespec* timeout, const sigset_t* mask) {
  return g_pselect(LAGWATCH_CALL(WaitSet::Select(count, reads, writes, exceptions)), count, reads, writes,
                   exceptions, timeout, mask);
}

// The names of poll and ppoll in programs built with _FORTIFY_SOURCE.
LAGWATCH_WAIT int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t fds_bytes) {
  return g_poll_chk(LAGWATCH_CALL(WaitSet::Poll(fds, count)), fds, count, timeout_ms, fds_bytes);
}

LAGWATCH_WAIT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                              size_t fds_bytes) {
  return g_ppoll_chk(LAGWATCH_CALL(WaitSet::Poll(fds, count)), fds, count, timeout, mask, fds_bytes);
}

}  // extern "C"
