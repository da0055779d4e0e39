// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/thread_waits.h"

#include <pthread.h>

#include <cerrno>
#include <csignal>

#include "sdk/preload/exec_environment.h"
#include "sdk/preload/wait_tracker.h"

namespace lagwatch::sdk {

constinit thread_local ThreadWaits t_waits{};
constinit WaitSwitches g_wait_switches{};

namespace {

// A signal handler that waits inside BeginWait or EndWait is passed over. A handler that jumps out of them,
// or an asynchronous cancellation, leaves is_busy set: after so many waits that is assumed.
constexpr int kMostSkippedWaits = 16;

bool TryEnter(ThreadWaits* waits) {
  if (waits->is_busy && ++waits->skipped_waits < kMostSkippedWaits) return false;
  waits->skipped_waits = 0;
  waits->is_busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return true;
}

void Leave(ThreadWaits* waits) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  waits->is_busy = false;
}

// Whether a watched thread needs PrepareThread() again.
bool IsToBePrepared(const ThreadWaits& waits) {
  // Relaxed: only false again after this thread has forked.
  return !g_wait_switches.start_tried.load(std::memory_order_relaxed) ||
         (waits.is_chosen && HasMainLoopReturned());
}

// The start opens files and takes locks: it is neither cancelled nor left by a signal handler's jump. Faults
// stay as they are, because a blocked one ends the process.
void PrepareUninterrupted(ThreadWaits* waits) {
  // The C library's handler of an asynchronous cancellation that is under way looks at the type alone.
  int type = PTHREAD_CANCEL_DEFERRED;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  int state = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  sigset_t blocked;
  sigset_t previous;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_BLOCK, &blocked, &previous);
  PrepareThread(waits);
  Leave(waits);
  pthread_setcancelstate(state, nullptr);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  pthread_setcanceltype(type, nullptr);  // may end the thread
}

}  // namespace

void BeginWait(const WaitCall& call) {
  if (g_wait_switches.is_off.load(std::memory_order_relaxed)) return;  // only ever becomes true
  ThreadWaits& waits = t_waits;
  if ((waits.loop == nullptr && !waits.is_candidate) || !TryEnter(&waits)) return;
  if (waits.loop != nullptr) {
    watchdog::LoopProbe& probe = waits.loop->probe;
    if (probe.number_under_way() == 0) {
      waits.home.Forget();
    } else if (waits.home.Serves(call)) {
      probe.End();
    }
  }
  if (waits.is_candidate) NoteCandidateWaits(&waits.candidate);
  Leave(&waits);
}

void EndWait(const char* name, bool succeeded) {
  if (g_wait_switches.is_off.load(std::memory_order_relaxed)) return;  // only ever becomes true
  ThreadWaits& waits = t_waits;
  if (waits.is_known && waits.loop == nullptr && waits.looks_left == 0) return;
  if (!TryEnter(&waits)) return;
  if (waits.is_candidate && !IsChoiceDue(&waits.candidate)) return Leave(&waits);
  const int error = errno;
  const bool was_loop = waits.loop != nullptr;
  if (was_loop && waits.home.GoesOn(succeeded)) {
    errno = error;
    return Leave(&waits);
  }
  const bool is_ready = was_loop && !IsToBePrepared(waits);
  if (!is_ready) PrepareUninterrupted(&waits);
  if (waits.loop != nullptr && (is_ready || TryEnter(&waits))) {
    watchdog::LoopProbe& probe = waits.loop->probe;
    if (probe.number_under_way() != 0) probe.End();  // a signal handler's, which waited inside this wait
    probe.Begin(name);
    if (was_loop) NoteLoopRuns();
  }
  Leave(&waits);
  errno = error;
}

}  // namespace lagwatch::sdk
