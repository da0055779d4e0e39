// SPDX-License-Identifier: Apache-2.0
// The functions of liburing that wait, in front of its own: its system calls are inline, so that no function
// of the C library sees them. It is looked for at the first call, which only a program that has loaded it
// makes; it then stays loaded, although a plug-in may have brought it. A program that is linked with it
// statically has no such call. Compiled without exceptions: see thread_waits.cc.
#include <dlfcn.h>
#include <link.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/process/loader_walk.h"
#include "sdk/preload/tags/loop_tags.h"
#include "sdk/preload/watch/thread_state.h"

namespace {

using lagwatch::sdk::ObjectCall;
using lagwatch::sdk::ObjectKind;

// Keeps the library that has the function loaded, if it still is.
bool Pin(void* function) {
  struct {
    void* function;
    bool is_pinned;
  } pin{function, false};
  lagwatch::base::RunBetweenForks(
      [](void* context) {
        auto* it = static_cast<decltype(pin)*>(context);
        Dl_info symbol;
        void* library = nullptr;
        if (dladdr1(it->function, &symbol, &library, RTLD_DL_LINKMAP) == 0) return;
        const char* name = static_cast<const link_map*>(library)->l_name;
        it->is_pinned = *name == '\0' ||  // the program's own
                        dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
      },
      &pin);
  return pin.is_pinned;
}

template <typename Function>
class RingFunction;

template <typename... A>
class RingFunction<int(A...)> {
 public:
  explicit constexpr RingFunction(const char* name) : name_(name) {}

  // Waits for `least_results` by the function.
  int Wait(const ObjectCall& call, unsigned least_results, std::type_identity_t<A>... arguments) {
    Function* function = function_.load(std::memory_order_relaxed);  // the same value for every thread
    if (function == nullptr) [[unlikely]] {
      function = reinterpret_cast<Function*>(lagwatch::sdk::FindLoaded(name_).address);
      if (function == nullptr) return -ENOSYS;
      if (Pin(reinterpret_cast<void*>(function))) function_.store(function, std::memory_order_relaxed);
    }
    if (least_results == 0 || !lagwatch::sdk::NeedsObjectWaits()) return function(arguments...);
    const bool is_noted = lagwatch::sdk::BeginObjectWait(call);
    const int result = function(arguments...);
    if (is_noted) lagwatch::sdk::EndObjectWait(call, "io_uring_enter");
    return result;
  }

 private:
  using Function = int(A...);

  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

using Ring = void;  // struct io_uring
using Timeout = __kernel_timespec;
constinit RingFunction<int(Ring*, io_uring_cqe**, unsigned, unsigned, sigset_t*)> g_get_cqe(
    "__io_uring_get_cqe");
constinit RingFunction<int(Ring*, io_uring_cqe**, unsigned, Timeout*, sigset_t*)> g_wait_cqes(
    "io_uring_wait_cqes");
constinit RingFunction<int(Ring*, io_uring_cqe**, Timeout*)> g_wait_cqe_timeout("io_uring_wait_cqe_timeout");
constinit RingFunction<int(Ring*, unsigned)> g_submit_and_wait("io_uring_submit_and_wait");
constinit RingFunction<int(Ring*, io_uring_cqe**, unsigned, Timeout*, sigset_t*)> g_submit_and_wait_timeout(
    "io_uring_submit_and_wait_timeout");
constinit RingFunction<int(unsigned, unsigned, unsigned, unsigned, sigset_t*)> g_enter("io_uring_enter");
constinit RingFunction<int(unsigned, unsigned, unsigned, unsigned, sigset_t*, size_t)> g_enter2(
    "io_uring_enter2");

}  // namespace

#define LAGWATCH_RING_WAIT __attribute__((visibility("default")))
// To be used in the wait function itself.
#define LAGWATCH_RING(ring)                                                                   \
  ObjectCall {                                                                                \
    reinterpret_cast<uintptr_t>(__builtin_return_address(0)),                                 \
        reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), static_cast<uint64_t>(ring), \
        ObjectKind::kRing                                                                     \
  }

extern "C" {

// io_uring_wait_cqe(), io_uring_wait_cqe_nr() and io_uring_peek_cqe(), which are inline, call it.
LAGWATCH_RING_WAIT int __io_uring_get_cqe(Ring* ring, io_uring_cqe** result, unsigned submit_count,
                                          unsigned least_results, sigset_t* mask) {
  return g_get_cqe.Wait(LAGWATCH_RING(reinterpret_cast<uintptr_t>(ring)), least_results, ring, result,
                        submit_count, least_results, mask);
}

LAGWATCH_RING_WAIT int io_uring_wait_cqes(Ring* ring, io_uring_cqe** result, unsigned least_results,
                                          Timeout* limit, sigset_t* mask) {
  return g_wait_cqes.Wait(LAGWATCH_RING(reinterpret_cast<uintptr_t>(ring)), least_results, ring, result,
                          least_results, limit, mask);
}

LAGWATCH_RING_WAIT int io_uring_wait_cqe_timeout(Ring* ring, io_uring_cqe** result, Timeout* limit) {
  return g_wait_cqe_timeout.Wait(LAGWATCH_RING(reinterpret_cast<uintptr_t>(ring)), 1, ring, result, limit);
}

LAGWATCH_RING_WAIT int io_uring_submit_and_wait(Ring* ring, unsigned least_results) {
  return g_submit_and_wait.Wait(LAGWATCH_RING(reinterpret_cast<uintptr_t>(ring)), least_results, ring,
                                least_results);
}

LAGWATCH_RING_WAIT int io_uring_submit_and_wait_timeout(Ring* ring, io_uring_cqe** result,
                                                        unsigned least_results, Timeout* limit,
                                                        sigset_t* mask) {
  return g_submit_and_wait_timeout.Wait(LAGWATCH_RING(reinterpret_cast<uintptr_t>(ring)), least_results, ring,
                                        result, least_results, limit, mask);
}

LAGWATCH_RING_WAIT int io_uring_enter(unsigned fd, unsigned submit_count, unsigned least_results,
                                      unsigned flags, sigset_t* mask) {
  const unsigned awaited = (flags & IORING_ENTER_GETEVENTS) != 0 ? least_results : 0;
  return g_enter.Wait(LAGWATCH_RING(fd), awaited, fd, submit_count, least_results, flags, mask);
}

LAGWATCH_RING_WAIT int io_uring_enter2(unsigned fd, unsigned submit_count, unsigned least_results,
                                       unsigned flags, sigset_t* mask, size_t mask_bytes) {
  const unsigned awaited = (flags & IORING_ENTER_GETEVENTS) != 0 ? least_results : 0;
  return g_enter2.Wait(LAGWATCH_RING(fd), awaited, fd, submit_count, least_results, flags, mask, mask_bytes);
}

}  // extern "C"
