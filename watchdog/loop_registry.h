// SPDX-License-Identifier: Apache-2.0
// The loops that are watched. It outlives every monitor, so a loop's handle stays valid whatever the monitor
// does: before it starts, after it stops, in a forked child.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/counter.h"
#include "base/sleeper.h"
#include "watchdog/dump_requests.h"
#include "watchdog/loop_frames.h"
#include "watchdog/loop_limits.h"
#include "watchdog/loop_probe.h"
#include "watchdog/loop_scopes.h"
#include "watchdog/task_counts.h"

namespace lagwatch::watchdog {

// One watched loop. The probe comes first: it is what the hot path touches.
struct WatchedLoop {
  static constexpr size_t kMaxNameBytes = 32;

  LoopProbe probe;
  std::atomic<uint32_t> generation{0};  // odd: in use; changes when the place is taken or left
  std::atomic<int32_t> tid{0};
  std::atomic<uint64_t> name[kMaxNameBytes / sizeof(uint64_t)]{};
  LoopLimits limits;
  TaskCounts tasks;
  TaskCounts inputs;
  LoopScopes scopes;
  LoopProbe idle_handler;
  LoopFrames frames;
  // Its dispatches are the times between the thread's waits; the program says nothing of them.
  std::atomic<bool> is_inferred{false};
  // Of an inferred one, by its thread before a dispatch begins: the frame of the wait that its loop is known
  // by, 0 while none is; and the only descriptor that the last wait was for, -1 when there was none or more.
  std::atomic<uintptr_t> home_frame{0};
  std::atomic<int32_t> polled_descriptor{-1};

  bool is_in_use() const {
    return generation.load(std::memory_order_acquire) % 2 != 0;
  }  // pairs with the stores
  void SetName(const char* text);
  void CopyName(char (&text)[kMaxNameBytes]) const;
};

// Thread safety: all methods may be called from any thread.
class LoopRegistry {
 public:
  static constexpr size_t kMaxLoops = 64;

  // Watches a loop of thread `tid`, the caller. Null when there is no place. The loop stays the registry's.
  // Context: background (a short lock among application threads; the watchdog never takes it).
  WatchedLoop* Add(const char* name, int tid);
  // Frees the loop's place. Context: background.
  void Remove(WatchedLoop* loop);
  // The same for all loops of a thread that ends. Context: background.
  void RemoveThread(int tid);
  // To be called in a forked child by its only thread: keeps that thread's loops, under its new `child_tid`.
  // Context: background.
  void KeepOnlyThread(int parent_tid, int child_tid);

  // From now on loops have a track for who records them. Context: background (as Add).
  void KeepTracks();

  // Where the watchdog sleeps: it outlives the watchdog, because a loop may be about to wake it. A new loop
  // wakes it, too.
  base::Sleeper& watchdog_sleeper() { return watchdog_sleeper_; }
  // Here for the same reason: a signal handler may be about to ask.
  DumpRequests& dump_requests() { return dump_requests_; }

  // Whether the application is in the foreground, by its own word; it is until told. From any thread.
  // Wait-free.
  void SetForeground(bool is_foreground) {
    if (is_foreground_.exchange(is_foreground) != is_foreground) watchdog_sleeper_.Wake();
  }
  bool is_foreground() const { return is_foreground_.load(std::memory_order_relaxed); }

  // The places that were ever taken; there are more of them as time goes on. From any thread. Wait-free.
  std::span<WatchedLoop> places() {
    return {loops_.data(),
            taken_count_.load(std::memory_order_acquire)};  // pairs with the store of a ready place
  }
  // Loops that found no place.
  uint64_t refused_count() const { return refused_count_.value(); }

 private:
  void FreePlace(WatchedLoop* loop);
  void AddTrack(size_t place);

  std::mutex mutex_;
  std::array<WatchedLoop, kMaxLoops> loops_;
  std::atomic<size_t> taken_count_{0};
  std::array<std::unique_ptr<DispatchHistory>, kMaxLoops> histories_;  // of the places that were ever taken
  std::array<std::unique_ptr<DispatchHistory>, kMaxLoops> notes_;
  std::array<std::unique_ptr<DispatchHistory>, kMaxLoops> tracks_;
  bool keeps_tracks_ = false;
  base::Counter refused_count_;
  base::Sleeper watchdog_sleeper_;
  DumpRequests dump_requests_{&watchdog_sleeper_};
  std::atomic<bool> is_foreground_{true};
};

}  // namespace lagwatch::watchdog
