// SPDX-License-Identifier: Apache-2.0
// The preloaded library in a child of fork(), which goes on with a copy of its parent's memory and one
// thread: the child's monitor starts at the next wait of that thread. The other parts have handlers of their
// own: sdk/fork_handlers.cc the monitor, watch_summary.cc the summary, signal_stack.cc the signal stacks and
// attach.cc its mutex. A child of vfork() or of clone() runs no handler: see OwnsMemory().
#include <pthread.h>

#include "base/system/seccomp.h"
#include "sdk/preload/library_start.h"
#include "sdk/preload/watch/process_watch.h"
#include "sdk/preload/watch/thread_watch.h"

namespace lagwatch::sdk {
namespace {

// A confined process has no monitor, and may make no system call of ours.
void RenewInForkedChild() {
  if (base::IsConfined()) return;
  RenewProcessInForkedChild();
  RenewThreadInForkedChild();
}

}  // namespace

void AddForkHandlers() { pthread_atfork(nullptr, nullptr, &RenewInForkedChild); }

}  // namespace lagwatch::sdk
