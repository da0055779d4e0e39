// SPDX-License-Identifier: Apache-2.0
// Synchronous capture: stacks of threads inside their own hooked calls. See docs/design/trace_hooks.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "trace/hooks/capture.h"
#include "trace/hooks/hook_table.h"
#include "trace/hooks/import_tables.h"

namespace lagwatch::trace {

struct HookOptions {
  int64_t interval_ns = base::kNsPerMs;  // shortest time between two captures of a thread
  int64_t wait_ns = 100'000;             // calls that take so long are always written down, as waits
  uint32_t families = kAllHooks;
  ModuleFilter modules = {};
  StackWalker walker = WalkFramePointers;
  const void* walker_context = nullptr;  // handed to it; lives until nothing is captured any more
};

struct HookCounters {
  CaptureCounts threads;
  uint64_t threads_refused = 0;  // too many at once; they are not captured
  uint64_t waiters_refused = 0;  // whose wakers are not known
  ImportCounts imports;
};

// One records at a time in a process.
//
// Thread safety: Start, Stop, SetInterval and Drain by one thread at a time; counters from
// any. Context: background.
class HookRecorder {
 public:
  HookRecorder() = default;
  ~HookRecorder() { Stop(); }
  HookRecorder(const HookRecorder&) = delete;
  HookRecorder& operator=(const HookRecorder&) = delete;

  // Fails if a recording is active. A child of fork() records nothing until it is started there; it need not
  // be stopped before.
  base::Status Start(const HookOptions& options);
  // From the threads' next calls on.
  void SetInterval(int64_t interval_ns);
  // Stops capturing and restores the import tables. Returns false if threads were still capturing after
  // some time: then their last records are still being written. Captured records can be drained until
  // the next start.
  bool Stop();
  bool is_recording() const { return is_started_ && IsRecording(); }

  // Calls `visit(tid, record, pcs)` for the captures since the last call, each thread's in the order in which
  // the calls ended; a wait comes after captures in signal handlers meanwhile. Then looks for modules that
  // were loaded since, and frees the memory of ended threads. Returns the number of captures.
  template <typename Visit>
  size_t Drain(Visit visit) {
    const size_t count = g_capture_threads.Drain(visit);
    if (is_recording()) ImportTables::Shared().LookAtModules();
    return count;
  }

  static HookCounters counters();
  // Whether modules were loaded since it was last asked: Drain should be called soon. Context: any.
  static bool TakeNewModules() {
    std::atomic<bool>& request = g_capture.has_new_modules;
    return request.load(std::memory_order_relaxed) && request.exchange(false);
  }

 private:
  int64_t ToTicks(int64_t ns) const;

  bool is_started_ = false;
  double ticks_per_ns_ = 0;
};

// The time of the last capture of thread `tid`, for other sources of stacks to read and to write; null until
// the thread has captured itself. Context: any, signal included.
inline std::atomic<uint64_t>* LastCaptureTicks(int32_t tid) {
  CaptureThread* thread = g_capture_threads.Find(tid);
  return thread == nullptr ? nullptr : &thread->last_capture_ticks;
}

// Captures the calling thread here, if that is due or `is_forced`. Returns false if it did not. Context: hot.
bool CaptureHere(bool is_forced);

// Sets the words of the calling thread's dispatches: the low half of `number` is the present dispatch,
// `ended`, if not null, the last one that ended; equal numbers mean no dispatch; null: none. Captures in a
// dispatch set `request`, if not null, to 0. Context: hot.
inline void SetDispatchWords(const DispatchWords& words, std::atomic<uint64_t>* request = nullptr) {
  t_slot.dispatch = words;
  t_slot.dispatch_request = request;
}

// Whether the words that are set have that `number`. Context: hot.
inline bool AreDispatchWordsOf(const std::atomic<uint64_t>& number) {
  return t_slot.dispatch.number == &number;
}

// The calling thread, one of lagwatch's own, is not captured. Context: any.
inline void LeaveThisThreadOut() { t_slot.is_left_out = true; }

}  // namespace lagwatch::trace
