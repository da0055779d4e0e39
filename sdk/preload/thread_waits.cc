// SPDX-License-Identifier: Apache-2.0
// Times the calling thread's loop by its waits: from the return of one of its waits to the entry of the next
// is one dispatch, and waits of handlers are part of it. A wait may also be left by pthread_cancel(), by a
// jump or by an exception of a signal handler: no function here keeps an object with a destructor across the
// wait, and the next wait needs no end of the last. The time between such a jump and the end of the next wait
// is no dispatch. Compiled without exceptions, so that the host's unwinder calls no routine of ours.
#include <pthread.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/system/float_environment.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/raw_syscall.h"
#include "sdk/preload/tags/loop_tags.h"
#include "sdk/preload/watch/thread_state.h"
#include "sdk/preload/watch/thread_watch.h"
#include "sdk/waits/home_note.h"
#include "watchdog/evidence/idle_places.h"

namespace lagwatch::sdk {

constinit thread_local HookedThread t_waits{};
constinit WaitSwitches g_wait_switches{};

namespace {

// A signal handler that waits inside BeginWait or EndWait is ignored. A handler that jumps out of them, or
// an asynchronous cancellation, leaves is_busy set. The next wait detects that by its frame, which cannot
// be as high as that of a call that is under way; if the frames are on different stacks, it is assumed
// after so many waits.
constexpr int kMostSkippedWaits = 16;

// The frame of the function that calls it.
[[gnu::always_inline]] inline uintptr_t OwnFrame() {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

bool IsOnSignalStack() {
  const int error = errno;
  stack_t stack{};
  const long result = RawSyscall(SYS_sigaltstack, 0, reinterpret_cast<long>(&stack), 0, 0, 0, 0);
  errno = error;
  return result < 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

bool WasLeft(const HookedThread& waits, uintptr_t frame) {
  return frame >= waits.busy_frame && frame - waits.busy_frame < watchdog::kDeepestStackBytes &&
         !waits.is_in_confined_child && !IsOnSignalStack();
}

bool TryEnter(HookedThread* waits, uintptr_t frame) {
  if (waits->is_busy && !WasLeft(*waits, frame) && ++waits->skipped_waits < kMostSkippedWaits) return false;
  waits->skipped_waits = 0;
  waits->busy_frame = frame;
  waits->is_busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return true;
}

void Leave(HookedThread* waits) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  waits->is_busy = false;
}

// Wraps.
uint32_t CoarseNowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec * 1000 + now.tv_nsec / base::kNsPerMs);
}

// Whether a watched thread needs PrepareThread() again.
bool IsToBePrepared(const HookedThread& waits) {
  // Relaxed: only false again after this thread has forked.
  return !g_wait_switches.start_tried.load(std::memory_order_relaxed) ||
         (waits.is_chosen && HasMainLoopReturned());
}

// The place is freed when the thread's specific data are destroyed, and may be another loop's by now; other
// destructors of the thread may wait after that.
void ForgetFreedPlace(HookedThread* waits) {
  // Relaxed: a thread that learns of it one wait later is as good.
  const uint32_t attaches = g_wait_switches.attaches.load(std::memory_order_relaxed);
  if (waits->attaches != attaches && !waits->is_busy) [[unlikely]] {
    const bool is_in_confined_child = waits->is_in_confined_child;
    *waits = {};
    waits->attaches = attaches;
    waits->is_in_confined_child = is_in_confined_child;
  }
  // Relaxed: the thread itself has freed it.
  if (waits->loop == nullptr || waits->loop->generation.load(std::memory_order_relaxed) == waits->generation)
    return;
  waits->loop = nullptr;
  waits->is_known = true;
  waits->looks_left = 0;
  waits->is_candidate = waits->is_chosen = false;
  waits->object_role = ObjectRole::kNever;
}

// The start opens files and takes locks: it is neither cancelled nor left by a signal handler's jump. Faults
// stay as they are, because a blocked one ends the process.
void PrepareUninterrupted(HookedThread* waits) {
  const base::FloatEnvironment floats = base::FloatEnvironment::Replace();
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
  if (waits->loop != nullptr) FollowSources();
  Leave(waits);
  floats.Restore();
  pthread_setcancelstate(state, nullptr);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  pthread_setcanceltype(type, nullptr);  // may end the thread
}

void EndDispatch(HookedThread* waits) {
  NoteMoves(waits->home, waits->objects, waits->loop);
  waits->loop->probe.End();
}

void BeginDispatch(HookedThread* waits, const char* name) {
  NoteHome(waits->home, waits->objects, waits->loop);
  watchdog::LoopProbe& probe = waits->loop->probe;
  if (probe.number_under_way() != 0) probe.End();  // a signal handler's, which waited inside this wait
  probe.Begin(name);
  waits->wait_name = name;
}

// A wait during a dispatch of a loop whose home polls nothing. The thread may poll for a handler, or in
// another place of its loop.
void BeginWaitBeside(HookedThread* waits, const WaitCall& call) {
  waits->home.Serves(call);
  if (waits->objects.BeginPolled(waits->home.IsLikelyLoops(), CoarseNowMs()) == ObjectHome::Use::kLoops)
    EndDispatch(waits);
}

// Whether such a loop goes on. Else it is left for one that polls.
bool EndWaitBeside(HookedThread* waits, const char* name) {
  waits->objects.EndPolled(CoarseNowMs());
  if (!waits->objects.has_home()) {
    if (gettid() == getpid()) NoteMainLoop(waits->loop);
    return false;
  }
  if (waits->loop->probe.number_under_way() == 0) {
    BeginDispatch(waits, name);
  } else {
    NoteForeignWait(waits->home, waits->objects, waits->loop);
  }
  return true;
}

// Of a thread that reads again and again without a wait, such as a file, most reads are not looked at.
bool IsToBeSkipped(HookedThread* waits, const ObjectCall& call) {
  constexpr uint8_t kMany = 128;
  constexpr uint8_t kLookedAt = 8;  // one in so many
  if (call.kind != ObjectKind::kRead || waits->short_reads < kMany || waits->objects.has_home()) return false;
  waits->short_reads = static_cast<uint8_t>((waits->short_reads + 1) | kMany);
  return waits->short_reads % kLookedAt != 0;
}

void NoteRead(HookedThread* waits, const ObjectCall& call, bool was_long) {
  if (call.kind != ObjectKind::kRead) return;
  if (was_long) {
    waits->short_reads = 0;
  } else if (waits->short_reads < UINT8_MAX) {
    ++waits->short_reads;
  }
}

// The thread has a loop that polls nothing: watches it, if it is not watched yet. False if it is not to be.
bool WatchObjectLoop(HookedThread* waits, uintptr_t frame) {
  if (waits->loop != nullptr && gettid() == getpid()) NoteMainLoop(nullptr);
  if (waits->loop == nullptr || IsToBePrepared(*waits)) {
    PrepareUninterrupted(waits);
    if (!TryEnter(waits, frame)) return false;
  }
  if (waits->loop != nullptr) return true;
  waits->object_role = ObjectRole::kNever;
  waits->objects.Forget();
  return false;
}

}  // namespace

void BeginWait(const WaitCall& call) {
  if (g_wait_switches.is_off.load(std::memory_order_relaxed)) return;  // nothing else depends on it
  HookedThread& waits = t_waits;
  ForgetFreedPlace(&waits);
  if ((waits.loop == nullptr && !waits.is_candidate) || !TryEnter(&waits, OwnFrame())) return;
  if (waits.loop != nullptr) {
    watchdog::LoopProbe& probe = waits.loop->probe;
    if (probe.number_under_way() == 0) {
      waits.home.Forget();
    } else if (waits.objects.has_home()) [[unlikely]] {
      BeginWaitBeside(&waits, call);
    } else if (waits.home.Serves(call)) {
      NoteHandler(waits.home, waits.loop);
      probe.End();
    } else {
      NoteForeignWait(waits.home, waits.objects, waits.loop);
    }
  }
  if (waits.is_candidate) NoteCandidateWaits(&waits.candidate);
  Leave(&waits);
}

void EndWait(const WaitCall& call, const char* name, bool succeeded) {
  if (g_wait_switches.is_off.load(std::memory_order_relaxed)) return;  // nothing else depends on it
  HookedThread& waits = t_waits;
  const uintptr_t frame = OwnFrame();
  ForgetFreedPlace(&waits);
  if (waits.is_known && waits.loop == nullptr && waits.looks_left == 0) return;
  if (!TryEnter(&waits, frame)) return;
  if (waits.is_candidate && !IsChoiceDue(&waits.candidate)) return Leave(&waits);
  const int error = errno;
  const bool was_loop = waits.loop != nullptr;
  const bool goes_on = was_loop && waits.home.GoesOn(succeeded);
  const bool is_beside = was_loop && waits.objects.has_home() && EndWaitBeside(&waits, name);
  if (goes_on || is_beside) {
    errno = error;
    return Leave(&waits);
  }
  const bool is_ready = was_loop && !IsToBePrepared(waits);
  if (!is_ready) PrepareUninterrupted(&waits);
  if (waits.loop != nullptr && (is_ready || TryEnter(&waits, frame))) {
    if (!was_loop) waits.home.NoteFirst(call);
    BeginDispatch(&waits, name);
    if (was_loop) NoteLoopRuns();
  }
  Leave(&waits);
  errno = error;
}

bool BeginObjectWait(const ObjectCall& call, const timespec* until) {
  if (g_wait_switches.is_off.load(std::memory_order_relaxed)) return false;  // nothing else depends on it
  HookedThread& waits = t_waits;
  ForgetFreedPlace(&waits);
  if (!MayLearnObjects(waits) || IsToBeSkipped(&waits, call) || (until != nullptr && IsSoon(*until)) ||
      !TryEnter(&waits, OwnFrame()))
    return false;
  if (waits.object_role == ObjectRole::kUnknown) waits.object_role = FindObjectRole();
  const bool is_learning = waits.object_role == ObjectRole::kLearns;
  if (is_learning && waits.objects.Begin(call, CoarseNowMs()) == ObjectHome::Use::kLoops &&
      waits.loop != nullptr && waits.loop->probe.number_under_way() != 0)
    EndDispatch(&waits);
  Leave(&waits);
  return is_learning;
}

void EndObjectWait(const ObjectCall& call, const char* name) {
  if (g_wait_switches.is_off.load(std::memory_order_relaxed)) return;  // nothing else depends on it
  HookedThread& waits = t_waits;
  const uintptr_t frame = OwnFrame();
  ForgetFreedPlace(&waits);
  if (!MayLearnObjects(waits) || !TryEnter(&waits, frame)) return;
  const int error = errno;
  const bool had_home = waits.objects.has_home();
  const uint32_t now_ms = CoarseNowMs();
  NoteRead(&waits, call, waits.objects.WasLong(now_ms));
  const bool is_new = waits.objects.End(call, now_ms);
  if (is_new || (had_home && waits.loop != nullptr && IsToBePrepared(waits))) {
    if (!WatchObjectLoop(&waits, frame)) {
      errno = error;
      return Leave(&waits);
    }
  }
  if (waits.loop != nullptr && waits.objects.has_home()) {
    if (is_new || waits.loop->probe.number_under_way() == 0) {
      if (is_new) NoteMoves(waits.home, waits.objects, waits.loop);
      BeginDispatch(&waits, name);
      if (had_home) NoteLoopRuns();
    } else {
      NoteForeignWait(waits.home, waits.objects, waits.loop);
    }
  } else if (had_home && waits.loop != nullptr) {
    EndDispatch(&waits);  // the thread has another loop by now
  }
  Leave(&waits);
  errno = error;
}

}  // namespace lagwatch::sdk
