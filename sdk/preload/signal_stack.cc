// SPDX-License-Identifier: Apache-2.0
// sigaltstack(2), which the preloaded library puts in front of the C library's to know the threads that have
// no room for a signal handler: stack/signal_stacks.h. A program may call it from signal handlers, and the
// runtimes of sanitizers call it before any constructor.
#include <pthread.h>

#include "base/system/seccomp.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/syscall_forwards.h"
#include "stack/signal_stacks.h"

namespace lagwatch::sdk {
namespace {

using stack::SignalStacks;

constinit NextFunction<int(const stack_t*, stack_t*)> g_sigaltstack("sigaltstack");

[[gnu::constructor]] void FindSignalStack() {
  g_sigaltstack.Find();
  // The child's thread has the same stack, and another id.
  pthread_atfork(nullptr, nullptr, [] {
    if (!base::IsConfined()) SignalStacks::NoteOwn();
  });
}

int CallNext(const stack_t* stack, stack_t* previous) { return g_sigaltstack(stack, previous); }

}  // namespace

int SetSignalStack(const stack_t* stack, stack_t* previous) {
  return base::IsConfined() ? CallNext(stack, previous) : SignalStacks::Set(stack, previous, CallNext);
}

}  // namespace lagwatch::sdk

extern "C" __attribute__((visibility("default"))) int sigaltstack(const stack_t* stack,
                                                                  stack_t* previous) noexcept {
  return lagwatch::sdk::SetSignalStack(stack, previous);
}
