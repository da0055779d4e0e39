// SPDX-License-Identifier: Apache-2.0
// The application's counts of a queue, from which the watchdog computes the age (policies/queue_age.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::watchdog {

// Thread safety: all from any thread. Context: hot; wait-free, no clock is read.
class alignas(64) TaskCounts {
 public:
  // Relaxed throughout: the counts order nothing.
  void NoteQueued() { queued_.fetch_add(1, std::memory_order_relaxed); }
  void NoteRun() { run_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t queued() const { return queued_.load(std::memory_order_relaxed); }
  uint64_t run() const { return run_.load(std::memory_order_relaxed); }
  // Nothing was queued yet.
  void Reset() {
    queued_.store(0, std::memory_order_relaxed);
    run_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> queued_{0};
  std::atomic<uint64_t> run_{0};
};

}  // namespace lagwatch::watchdog
