// SPDX-License-Identifier: Apache-2.0
// The loops that are watched. It outlives every monitor, so a loop's handle stays valid whatever the monitor
// does: before it starts, after it stops, in a forked child.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>

#include "base/counter.h"
#include "base/process/own_memory.h"
#include "base/process/process.h"
#include "base/process/sleeper.h"
#include "watchdog/loops/dump_requests.h"
#include "watchdog/loops/loop_frames.h"
#include "watchdog/loops/loop_limits.h"
#include "watchdog/loops/loop_observer.h"
#include "watchdog/loops/loop_probe.h"
#include "watchdog/loops/loop_scopes.h"

namespace lagwatch::watchdog {

// The application's counts of a queue, from which the watchdog computes the age (policies/queue_age.h).
//
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

// One watched loop. The probe comes first: it is what the hot path touches.
struct WatchedLoop {
  static constexpr size_t kMaxNameBytes = 32;

  LoopProbe probe;
  std::atomic<uint32_t> generation{0};  // odd: in use; changes when the place is taken or left
  std::atomic<int32_t> tid{0};
  std::atomic<uint64_t> begun_before{0};  // dispatches of the loops that had this place before
  std::atomic<uint64_t> name[kMaxNameBytes / sizeof(uint64_t)]{};
  LoopLimits limits;
  TaskCounts tasks;
  TaskCounts inputs;
  LoopScopes scopes;
  LoopProbe idle_handler;
  LoopFrames frames;
  // Its dispatches are the times between the thread's waits; the program says nothing of them. The rest is of
  // such a loop, noted by its thread before a dispatch begins, if nothing else is said.
  std::atomic<bool> is_inferred{false};
  // The evidence of the home's frame: sdk/waits/wait_home.h. A thread no further below it than the depth may
  // be in no handler.
  std::atomic<bool> is_home_shared{false};
  // During a dispatch: it has had a wait that may have been of another loop.
  std::atomic<bool> has_doubtful_wait{false};
  // The only descriptor that the last wait was for, -1 when there was none or more.
  std::atomic<int32_t> polled_descriptor{-1};
  std::atomic<uintptr_t> home_frame{0};  // of the wait that its loop is known by, 0 while none is
  std::atomic<uintptr_t> home_site{0};   // the address that this wait returns to
  std::atomic<uintptr_t> home_doubtful_depth{0};
  std::atomic<uint32_t> home_moves{0};
  // Before a dispatch ends: the last one that had a doubtful wait and was a handler's nevertheless (the lower
  // half of its number), and since when (0: from its begin).
  std::atomic<uint32_t> handlers_number{0};
  std::atomic<int64_t> handler_since_ns{0};

  bool is_in_use() const {
    return generation.load(std::memory_order_acquire) % 2 != 0;
  }  // pairs with the stores
  void SetName(const char* text);
  void CopyName(char (&text)[kMaxNameBytes]) const;
};

// Thread safety: all methods may be called from any thread.
class LoopRegistry {
 public:
  // Places are made in blocks, which never move.
  static constexpr size_t kBlockLoops = 16;
  static constexpr size_t kMaxBlocks = 512;
  static constexpr size_t kMaxLoops = kBlockLoops * kMaxBlocks;

 private:
  struct Block {
    std::array<WatchedLoop, kBlockLoops> loops;
    // Not from malloc: of these no page is touched before it is used.
    base::MappedBlock<DispatchHistory> histories;  // first those of all loops, then their notes
    base::MappedBlock<DispatchHistory> tracks;
  };

 public:
  // The places that were ever taken. Cheap to copy.
  class Places {
   public:
    class Iterator {
     public:
      using iterator_category = std::forward_iterator_tag;
      using value_type = WatchedLoop;
      using difference_type = ptrdiff_t;
      using pointer = WatchedLoop*;
      using reference = WatchedLoop&;

      Iterator() = default;
      Iterator(const Places* places, size_t index) : places_(places), index_(index) {}
      WatchedLoop& operator*() const { return (*places_)[index_]; }
      WatchedLoop* operator->() const { return &(*places_)[index_]; }
      Iterator& operator++() {
        ++index_;
        return *this;
      }
      Iterator operator++(int) { return {places_, index_++}; }
      bool operator==(const Iterator& other) const { return index_ == other.index_; }

     private:
      const Places* places_ = nullptr;
      size_t index_ = 0;
    };

    Places(const std::atomic<Block*>* blocks, size_t count) : blocks_(blocks), count_(count) {}
    size_t size() const { return count_; }
    WatchedLoop& operator[](size_t place) const {
      // Relaxed: published by the count.
      return blocks_[place / kBlockLoops].load(std::memory_order_relaxed)->loops[place % kBlockLoops];
    }
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, count_}; }

   private:
    const std::atomic<Block*>* blocks_;
    size_t count_;
  };

  // Of the loops of `process`, which may be another one that is watched from outside.
  explicit LoopRegistry(const base::Process& process = base::Process::Own()) : process_(process) {}
  ~LoopRegistry();
  LoopRegistry(const LoopRegistry&) = delete;
  LoopRegistry& operator=(const LoopRegistry&) = delete;

  const base::Process& process() const { return process_; }

  // Watches a loop of thread `tid`: the caller, or the other process's. Null when there is no place. The loop
  // stays the registry's. `set_up` runs before the watchdog sees the loop: a dispatch that begins there has
  // begun when it says, which may be long ago. Context: background (a short lock among application threads;
  // the watchdog never takes it).
  WatchedLoop* Add(const char* name, int tid, const std::function<void(WatchedLoop*)>& set_up = nullptr);
  // Frees the loop's place. Context: background.
  void Remove(WatchedLoop* loop);
  // The same for all loops of a thread that ends. Context: background.
  void RemoveThread(int tid);
  // To be called in a forked child by its only thread: keeps that thread's loops, under its new
  // `child_tid`. Context: background.
  void KeepOnlyThread(int parent_tid, int child_tid);

  // From now on loops have a track for recorders. Context: background (as Add).
  void KeepTracks();

  // From now on `observer`, which is never destroyed, sees hangs, and the ends of all loops'
  // dispatches if it `wants_dispatches`; null: none is. A forked child has none. Context: background (as
  // Add).
  void SetObserver(LoopObserver* observer, bool wants_dispatches);
  // Context: any.
  LoopObserver* observer() const {
    return observer_.load(std::memory_order_acquire);
  }  // pairs with its store

  // The watchdog's sleeper: it outlives the watchdog, because a loop may be about to wake it. A new loop
  // wakes it, too.
  base::Sleeper& watchdog_sleeper() { return watchdog_sleeper_; }
  // Here for the same reason: a signal handler may be about to ask.
  DumpRequests& dump_requests() { return dump_requests_; }

  // Whether the application is in the foreground, as it reports; initially it is. From any thread. Wait-free.
  void SetForeground(bool is_foreground) {
    if (is_foreground_.exchange(is_foreground) != is_foreground) watchdog_sleeper_.Wake();
  }
  bool is_foreground() const { return is_foreground_.load(std::memory_order_relaxed); }

  // Whether a watchdog looks at loops: then their long dispatches are noted from the first one on. Context:
  // background.
  void SetHasWatchdog(bool has_watchdog) { has_watchdog_.store(has_watchdog); }

  // The places that were ever taken; there are more of them as time goes on. From any thread. Wait-free.
  Places places() {
    // Acquire: pairs with the store of a ready place.
    return {blocks_.data(), taken_count_.load(std::memory_order_acquire)};
  }
  // The loops that the watchdog is to look at: those that came, went or began a dispatch after it had asked
  // them to say so.
  WokenProbes& woken_probes() { return woken_probes_; }
  // Loops that found no place.
  uint64_t refused_count() const { return refused_count_.value(); }

 private:
  // False when there is no memory for it.
  bool HasBlockOf(size_t place);
  void FreePlace(WatchedLoop* loop);
  void AddTrack(size_t place);
  void ObserveAll(LoopObserver* observer);

  base::Process process_;
  std::mutex mutex_;
  std::array<std::atomic<Block*>, kMaxBlocks> blocks_{};
  std::atomic<size_t> taken_count_{0};
  size_t lowest_free_ = 0;  // no place before it is free
  bool keeps_tracks_ = false;
  std::atomic<LoopObserver*> observer_{nullptr};
  LoopObserver* dispatch_observer_ = nullptr;
  base::Counter refused_count_;
  base::Sleeper watchdog_sleeper_;
  WokenProbes woken_probes_{&watchdog_sleeper_};
  DumpRequests dump_requests_{&watchdog_sleeper_};
  std::atomic<bool> is_foreground_{true};
  std::atomic<bool> has_watchdog_{false};
};

}  // namespace lagwatch::watchdog
