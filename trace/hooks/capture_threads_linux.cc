// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>

#include "trace/hooks/capture_threads.h"

namespace lagwatch::trace {
namespace {

void AddTo(std::atomic<uint64_t>* sum, const std::atomic<uint64_t>& count) {
  sum->fetch_add(count.load(std::memory_order_relaxed), std::memory_order_relaxed);  // statistics
}

}  // namespace

CaptureThread* CaptureThreads::Register(int32_t tid) {
  if (CaptureThread* ended = Find(tid); ended != nullptr) ended->has_ended.store(true);
  CaptureRing* ring = CaptureRing::Create();
  for (uint32_t probe = 0; ring != nullptr && probe < kCapacity; ++probe) {
    CaptureThread& thread = threads_[(static_cast<uint32_t>(tid) + probe) % kCapacity];
    auto expected = CaptureThread::kFree;
    // Acquire: what its last thread did comes before.
    if (!thread.state.compare_exchange_strong(expected, CaptureThread::kTaken, std::memory_order_acquire))
      continue;
    uint32_t longest = longest_probe_.load(std::memory_order_relaxed);  // only ever more
    while (longest < probe && !longest_probe_.compare_exchange_weak(longest, probe)) {
    }
    // All published by the state.
    thread.last_capture_ticks.store(0, std::memory_order_relaxed);
    thread.is_capturing.store(false, std::memory_order_relaxed);
    thread.has_ended.store(false, std::memory_order_relaxed);
    for (auto* counter : {&thread.captures, &thread.dropped_full, &thread.walk_incomplete, &thread.nested})
      counter->store(0, std::memory_order_relaxed);
    thread.last_copy = {};
    thread.ring = ring;
    thread.tid.store(tid, std::memory_order_relaxed);
    thread.state.store(CaptureThread::kLive, std::memory_order_release);
    return &thread;
  }
  if (ring != nullptr) CaptureRing::Destroy(ring);
  refused_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  return nullptr;
}

CaptureThread* CaptureThreads::Find(int32_t tid) {
  const uint32_t longest = longest_probe_.load();
  for (uint32_t probe = 0; probe <= longest; ++probe) {
    CaptureThread& thread = threads_[(static_cast<uint32_t>(tid) + probe) % kCapacity];
    if (thread.state.load(std::memory_order_acquire) == CaptureThread::kLive &&
        thread.tid.load(std::memory_order_relaxed) == tid && !thread.has_ended.load())
      return &thread;
  }
  return nullptr;
}

bool CaptureThreads::WaitForCaptures(int64_t timeout_ns) const {
  constexpr int64_t kPauseNs = 100'000;
  for (const CaptureThread& thread : threads_) {
    while (thread.state.load() == CaptureThread::kLive && thread.is_capturing.load() && !HasEnded(thread)) {
      if (timeout_ns <= 0) return false;
      timespec pause{0, kPauseNs};
      nanosleep(&pause, nullptr);
      timeout_ns -= kPauseNs;
    }
  }
  return true;
}

CaptureCounts CaptureThreads::counts() const {
  CaptureCounts counts{ended_captures_.load(), ended_dropped_full_.load(), ended_walk_incomplete_.load(),
                       ended_nested_.load()};
  for (const CaptureThread& thread : threads_) {
    if (thread.state.load(std::memory_order_acquire) != CaptureThread::kLive) continue;
    counts.captures += thread.captures.load(std::memory_order_relaxed);
    counts.dropped_full += thread.dropped_full.load(std::memory_order_relaxed);
    counts.walk_incomplete += thread.walk_incomplete.load(std::memory_order_relaxed);
    counts.nested += thread.nested.load(std::memory_order_relaxed);
  }
  return counts;
}

void CaptureThreads::ForgetAll(const CaptureThread* busy) {
  for (CaptureThread& thread : threads_) {
    if (&thread == busy) continue;
    if (thread.state.load() == CaptureThread::kLive) {
      Free(&thread);
    } else {
      thread.state.store(CaptureThread::kFree);  // a thread was just registering; its ring is lost
    }
  }
}

bool CaptureThreads::HasEnded(const CaptureThread& thread) {
  if (thread.has_ended.load()) return true;
  const int saved_errno = errno;
  const bool has_ended =
      syscall(SYS_tgkill, getpid(), thread.tid.load(std::memory_order_relaxed), 0) != 0 && errno == ESRCH;
  errno = saved_errno;
  return has_ended;
}

void CaptureThreads::Free(CaptureThread* thread) {
  AddTo(&ended_captures_, thread->captures);
  AddTo(&ended_dropped_full_, thread->dropped_full);
  AddTo(&ended_walk_incomplete_, thread->walk_incomplete);
  AddTo(&ended_nested_, thread->nested);
  CaptureRing::Destroy(thread->ring);
  thread->state.store(CaptureThread::kFree, std::memory_order_release);  // pairs with the next Register
}

CaptureRing* CaptureRing::Create() {
  void* memory =
      mmap(nullptr, sizeof(CaptureRing), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) CaptureRing;
}

void CaptureRing::Destroy(CaptureRing* ring) { munmap(ring, sizeof *ring); }

}  // namespace lagwatch::trace
