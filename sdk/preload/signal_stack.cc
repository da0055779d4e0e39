// SPDX-License-Identifier: Apache-2.0
// sigaltstack(2), which the preloaded library puts in front of the C library's to know the threads that have
// no room for a signal handler: stack/signal_stacks.h. A program may call it from signal handlers.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/seccomp.h"
#include "stack/signal_stacks.h"

namespace {

using lagwatch::stack::SignalStacks;

int CallKernel(const stack_t* stack, stack_t* previous) {
  return static_cast<int>(syscall(SYS_sigaltstack, stack, previous));
}

// The next definition after ours; before it is looked up, which a signal handler must not do, the kernel.
constinit SignalStacks::SetStack g_real = CallKernel;

__attribute__((constructor)) void FindReal() {
  if (void* next = dlsym(RTLD_NEXT, "sigaltstack")) g_real = reinterpret_cast<SignalStacks::SetStack>(next);
  // The child's thread has the same stack, and another id.
  pthread_atfork(nullptr, nullptr, [] {
    if (!lagwatch::base::IsConfined()) SignalStacks::NoteOwn();
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int sigaltstack(const stack_t* stack,
                                                                  stack_t* previous) noexcept {
  return lagwatch::base::IsConfined() ? g_real(stack, previous) : SignalStacks::Set(stack, previous, g_real);
}
