// SPDX-License-Identifier: Apache-2.0
#include <linux/membarrier.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>

#include "base/system/process.h"

extern "C" int __sigaction(int signal_number, const struct sigaction* action,
                           struct sigaction* previous) noexcept;

namespace lagwatch::base {

const bool kCanTryNewCalls = true;

void DropPendingSignals(const sigset_t& signals) {
  const timespec at_once{};
  while (sigtimedwait(&signals, nullptr, &at_once) > 0) {
  }
}

int SetSignalAction(int signal_number, const struct sigaction* action, struct sigaction* previous) {
  return __sigaction(signal_number, action, previous);
}

void CallAtQuickExit(void (*function)()) { at_quick_exit(function); }

namespace {

// Each process must register before it uses the call. A forked child has its parent's registration.
constinit std::atomic<bool> g_is_registered{false};

bool RegisterFences() {
  const bool is_registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (is_registered) g_is_registered.store(true);
  return is_registered;
}

}  // namespace

bool FenceAllThreads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
  return RegisterFences() && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void PrepareFences() {
  if (__libc_single_threaded != 0 && !g_is_registered.load()) RegisterFences();
}

bool AreFencesPrepared() { return g_is_registered.load(); }

}  // namespace lagwatch::base
