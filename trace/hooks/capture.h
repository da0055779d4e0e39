// SPDX-License-Identifier: Apache-2.0
// Captures a thread's stack inside its own hooked calls: when no stack of it was captured for an interval,
// when it has waited, or when it has woken another thread. Context: hot, signal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ticks.h"
#include "stack/frames/raw_stack.h"
#include "trace/hooks/capture_threads.h"
#include "trace/hooks/frame_pointer_walk.h"
#include "trace/hooks/waiter_table.h"
#include "trace/io/thread_io.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// One thread's state; all zero at first.
struct ThreadSlot {
  // The waiter entry of a waiting thread, and the frame of the hook that it waits in.
  struct Wait {
    WaiterTable::Cell* cell;  // null: it does not wait, or there was no room
    uint64_t stack_pointer;   // at the call of the hook
    uint64_t return_address;  // of the hook
  };

  CaptureThread* thread;  // null: has not captured itself yet
  // The low half of the number is the dispatch that the thread is in, unless it has ended. The other words
  // may be null: unknown.
  DispatchWords dispatch;
  ThreadIo* io;        // null: has not counted its calls yet
  bool is_io_refused;  // there was no room for it
  // Set to 0 by a capture in a dispatch; may be null.
  std::atomic<uint64_t>* dispatch_request;
  uint64_t allocations;
  uint64_t allocated_bytes;
  Wait wait;
  uint64_t turn_ticks;     // when it came back from its last poll; 0: it never polled
  uint64_t clock_ticks;    // when it looked at the clock in a call that is often made
  uint32_t calls_to_skip;  // before it looks again
  uint32_t skipped_calls;  // how many that were at the last look
  uint32_t refused_start;  // the start of recording in which there was no room for it
  bool is_busy;            // capturing; signal handlers must not
  bool is_left_out;
};
// Initial-exec: no call and no allocation at the first access.
extern constinit thread_local ThreadSlot t_slot __attribute__((tls_model("initial-exec")));

// State shared by all threads.
struct CaptureState {
  static constexpr int64_t kNever = INT64_MAX;

  std::atomic<int64_t> interval_ticks{kNever};
  std::atomic<int64_t> wait_ticks{kNever};  // waits from here on are always written down
  std::atomic<bool> is_recording{false};
  std::atomic<uint32_t> families{0};  // HookFamily, ORed: of the hooks that capture
  std::atomic<uint32_t> start_count{0};
  std::atomic<bool> has_new_modules{false};  // the import tables should be checked
  // Changed only while no thread captures.
  StackWalker walker = WalkFramePointers;
  const void* walker_context = nullptr;
};
extern constinit CaptureState g_capture;
extern constinit CaptureThreads g_capture_threads;
extern constinit WaiterTable g_waiters;

struct CaptureCall {
  RunKind run;
  CallKind call;
  uint64_t object;
  uint64_t begin_ticks;
  uint64_t end_ticks;
  bool is_for_all = false;                      // RunKind::kWoke: all that waited
  const stack::Registers* registers = nullptr;  // all that a signal handler got; may be null
};

// Captures the calling thread's stack, from `from` outwards. Returns false without a capture if nothing is
// recorded, if the thread is capturing already, or if there is no room. Keeps errno.
bool Capture(const CallRegisters& from, const CaptureCall& call);

inline bool IsRecording() { return g_capture.is_recording.load(std::memory_order_relaxed); }

// Whether hooks of that family capture. Others are called, too, where trace/io counts.
inline bool IsRecordingIn(uint32_t family) {
  return IsRecording() && (g_capture.families.load(std::memory_order_relaxed) & family) != 0;  // a number
}

// Whether no stack of the thread was captured for an interval. Stamps are of any thread, and may be later.
inline bool IsDue(uint64_t now_ticks) {
  const CaptureThread* thread = t_slot.thread;
  if (thread == nullptr) return true;
  // Relaxed: a stamp orders nothing.
  const uint64_t last_ticks = thread->last_capture_ticks.load(std::memory_order_relaxed);
  return static_cast<int64_t>(now_ticks - last_ticks) >=
         g_capture.interval_ticks.load(std::memory_order_relaxed);
}

// A capture in a call that returns at once and that programs make at some moments only.
inline void CapturePointAt(const CallRegisters& from, CallKind call, uint64_t object, uint64_t now_ticks) {
  if (IsDue(now_ticks)) Capture(from, {RunKind::kCaptured, call, object, now_ticks, now_ticks});
}

// For calls that programs make so often that to read the clock in each would cost more than the call: skips
// more of them the faster they come, but never so many that the interval would be missed by much.
void LookAtClock(const CallRegisters& from, CallKind call);
[[gnu::always_inline]] inline void CaptureOften(CallKind call) {
  if (t_slot.calls_to_skip != 0) {
    --t_slot.calls_to_skip;
    return;
  }
  LookAtClock(CallersRegisters(), call);
}

// A capture at the end of a call that may have waited since `begin_ticks`. Returns when that end is.
uint64_t CaptureAfter(const CallRegisters& from, CallKind call, uint64_t object, uint64_t begin_ticks);

// To be called at the end of a poll that began at `begin_ticks`. One that ends a long turn of a loop is
// recorded as a wait, however short it was: the calls on the stack before have ended, even if they are
// there again afterwards.
void CaptureAfterPoll(const CallRegisters& from, uint64_t begin_ticks);

// Records that the calling thread, since `begin_ticks`, woke a thread that waited for `object`: the moment
// lies between the two times of the record.
inline void CaptureWake(const CallRegisters& from, CallKind call, uint64_t object, uint64_t begin_ticks,
                        bool is_for_all = false) {
  Capture(from, {RunKind::kWoke, call, object, begin_ticks, base::ReadTicks(), is_for_all});
}
// Encloses a call that may wake a thread that waits for `object`.
class ReleaseWatch {
 public:
  explicit ReleaseWatch(uint64_t object)
      : object_(object), begin_ticks_(base::ReadTicks()), watch_(g_waiters.BeforeRelease(object)) {}

  // The call is made, and let go.
  void CaptureAfter(const CallRegisters& from, CallKind call, bool is_for_all = false) const {
    if (g_waiters.AfterRelease(object_, watch_)) [[unlikely]] {
      CaptureWake(from, call, object_, begin_ticks_, is_for_all);
    } else {
      CapturePointAt(from, call, object_, begin_ticks_);
    }
  }

 private:
  uint64_t object_;
  // The time is taken before the release: after it, the next owner might have released, too.
  uint64_t begin_ticks_;
  WaiterTable::Watch watch_;
};

// The wait that a signal handler has interrupted, whose wait begins at `from`. One that was left
// is taken back.
ThreadSlot::Wait InterruptedWait(const CallRegisters& from);
ThreadSlot::Wait EnterWait(const CallRegisters& from, uint64_t object);
// While it lives, the thread is known to wait for an object. A wait may also be left by pthread_cancel(), by
// a jump or by an exception, which run no destructor here: then the next wait of the thread, or its end,
// takes its entry back.
class ScopedWaiter {
 public:
  // `from`: the caller of the hook.
  ScopedWaiter(const CallRegisters& from, uint64_t object)
      : outer_(InterruptedWait(from)), own_(EnterWait(from, object)) {
    t_slot.wait = own_;
  }
  ~ScopedWaiter() {
    const ThreadSlot::Wait inner = t_slot.wait;
    const bool is_other = inner.stack_pointer != own_.stack_pointer;  // a signal handler's, which was left
    if (is_other && inner.cell != nullptr) WaiterTable::Leave(inner.cell);
    if (own_.cell != nullptr) WaiterTable::Leave(own_.cell);
    t_slot.wait = outer_;
  }
  ScopedWaiter(const ScopedWaiter&) = delete;
  ScopedWaiter& operator=(const ScopedWaiter&) = delete;

 private:
  ThreadSlot::Wait outer_;  // of the call that a signal handler's wait has interrupted; empty: there is none
  ThreadSlot::Wait own_;
};

// Gives the calling thread its counts of files; null if there are too many threads. Context: hot; a system
// call, once.
ThreadIo* TakeThreadIo();
// The calling thread ends. Context: any.
void ForgetThreadIo();

// Prepares the ends of threads and children of fork(). Once per process, before
// recording. Context: background.
void PrepareCapture();
// Recording is off from here on in this process, as in a child of fork().
void ForgetCaptures();

}  // namespace lagwatch::trace
