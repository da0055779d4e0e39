// SPDX-License-Identifier: Apache-2.0
// The threads that captured their own stacks, each with its ring. An entry is found by the thread's id and
// stays where it is, so that samplers can share the stamp of the last look with the thread itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/hooks/capture_ring.h"
#include "trace/hooks/stack_copies.h"

namespace lagwatch::trace {

// The counters of one thread or of all. Each counts captures, or what took their place.
struct CaptureCounts {
  uint64_t captures = 0;
  uint64_t dropped_full = 0;     // the thread's ring was full
  uint64_t walk_incomplete = 0;  // captures whose outermost frames are missing
  uint64_t nested = 0;           // came while the thread was capturing: a signal handler's
};

// Thread safety: the thread itself writes, except where noted; any thread may read the atomics.
struct alignas(64) CaptureThread {
  enum ThreadUse : uint32_t { kFree, kTaken, kLive };

  std::atomic<ThreadUse> state;
  std::atomic<int32_t> tid;
  // The time of the last capture of the thread's stack, by itself or by a sampler; both
  // write it. base::ReadTicks().
  std::atomic<uint64_t> last_capture_ticks;
  std::atomic<bool> is_capturing;
  std::atomic<bool> has_ended;       // written by the next thread of the same id; not known otherwise
  StackCopies::Last last_copy = {};  // the thread's own
  // Set before kLive, taken back by the reader.
  CaptureRing* ring = nullptr;
  std::atomic<uint64_t> captures;
  std::atomic<uint64_t> dropped_full;
  std::atomic<uint64_t> walk_incomplete;
  std::atomic<uint64_t> nested;

  // A statistic with one writer.
  static void Count(std::atomic<uint64_t>* counter) {
    counter->store(counter->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};
static_assert(std::atomic<CaptureThread::ThreadUse>::is_always_lock_free, "not signal-safe");

// The threads that capture their own stacks, by id. All zero is an empty table.
//
// Thread safety: Register and Find from any thread; the others by one reader at a time. Invariants:
// - A thread's entry is freed only when the thread has ended and its ring is empty.
// - No two live threads have the same id: if a thread registers an id that has an entry, the earlier thread
//   has ended.
class CaptureThreads {
 public:
  static constexpr uint32_t kCapacity = 1024;

  // An entry for the calling thread, whose id is `tid`; null when there are too many or there is no memory.
  // Context: signal (system calls).
  CaptureThread* Register(int32_t tid);
  // Null if the thread never captured itself. The entry may become another thread's at any time after its
  // thread has ended. Context: any, signal included.
  CaptureThread* Find(int32_t tid);

  // Calls `visit(tid, record, pcs)` for all records; entries of ended threads become free.
  template <typename Visit>
  size_t Drain(Visit visit);
  // False when threads are still capturing after `timeout_ns`. Recording must be off. Context: background.
  bool WaitForCaptures(int64_t timeout_ns) const;
  // Of all threads that there were.
  CaptureCounts counts() const;
  uint64_t refused_count() const { return refused_.load(std::memory_order_relaxed); }

  // Forgets all threads, in a child of fork(): they are the parent's. But not `busy`, which may be null.
  void ForgetAll(const CaptureThread* busy = nullptr);

 private:
  static bool HasEnded(const CaptureThread& thread);
  void Free(CaptureThread* thread);

  CaptureThread threads_[kCapacity];
  std::atomic<uint32_t> longest_probe_;  // how far from its place an entry was put; never less again
  std::atomic<uint64_t> refused_;
  std::atomic<uint64_t> ended_captures_;
  std::atomic<uint64_t> ended_dropped_full_;
  std::atomic<uint64_t> ended_walk_incomplete_;
  std::atomic<uint64_t> ended_nested_;
};

template <typename Visit>
size_t CaptureThreads::Drain(Visit visit) {
  size_t count = 0;
  for (CaptureThread& thread : threads_) {
    // Acquire: the ring was set before.
    if (thread.state.load(std::memory_order_acquire) != CaptureThread::kLive) continue;
    const int32_t tid = thread.tid.load(std::memory_order_relaxed);  // set before kLive
    auto visit_one = [&](const CaptureRecord& record, const uint64_t* pcs) { visit(tid, record, pcs); };
    const size_t drained = thread.ring->Drain(visit_one);
    count += drained;
    if (drained != 0 || !HasEnded(thread)) continue;
    count += thread.ring->Drain(visit_one);  // from between the last look and its end
    Free(&thread);
  }
  return count;
}

}  // namespace lagwatch::trace
