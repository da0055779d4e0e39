// SPDX-License-Identifier: Apache-2.0
// The words that a watched loop's thread writes and the watchdog reads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/process/process.h"
#include "base/ticks.h"
#include "policies/usage.h"
#include "watchdog/loops/dispatch_history.h"
#include "watchdog/loops/loop_observer.h"
#include "watchdog/loops/woken_probes.h"

namespace lagwatch::watchdog {

// Written at both ends of a dispatch. Part of the ABI: the C header's inline functions write these words too,
// for dispatches without a time stamp.
struct LoopWords {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> ended{0};
  std::atomic<uint64_t> begin_ticks{0};
  std::atomic<const char*> tag{nullptr};
  uint64_t nested = 0;
  std::atomic<uint32_t> is_watchdog_asleep{0};  // for good: the next dispatch must wake it
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

// A loop's probe.
//
// Thread safety: Begin and End from the loop's own thread only; the rest from the watchdog
// thread only. Invariants:
// - Dispatches are numbered from 1. `begun` is the number of the last one that began, `ended` of the last one
//   that ended; they differ, by one, while a dispatch is under way (costs: docs/design/dispatch.md).
// - `begin_ticks` and `tag` belong to dispatch `begun`: a reader that finds the same `begun` before and after
//   reading them has a consistent pair.
// - Pairs of Begin and End may be nested. Of a pair inside a dispatch only `nested` knows. Where the loop
//   waits inside a pair, as a dialog does that runs the loop itself, the wait sets the open pairs aside:
//   `nested` is their number then, and the time after the wait is of dispatches of its own. A pair in the
//   time after a wait sets that time's dispatch aside in the same way, as one more pair that ends with the
//   wait.
class alignas(64) LoopProbe {
 public:
  // A dispatch begins now. `tag` must stay readable until it ends; may be null. Context: hot. One tick read,
  // a compare and three stores; at most every 100 ms a read of the thread's clock.
  void Begin(const char* tag) {
    // Relaxed loads of `begun` and `ended`, here and in End: only this thread writes them.
    const uint64_t begun = words_.begun.load(std::memory_order_relaxed);
    if (begun != words_.ended.load(std::memory_order_relaxed)) [[unlikely]]
      BeginInside(tag);
    else
      BeginNext(begun + 1, tag, base::ReadTicks());
  }
  // The same for one that began at `ticks`, a moment ago. While none is under way.
  void BeginAt(const char* tag, uint64_t ticks) {
    BeginNext(words_.begun.load(std::memory_order_relaxed) + 1, tag, ticks);
  }

  // Ends what Begin began; a stray end is ignored. Context: hot. One tick read, three compares, one store.
  void End() {
    if (words_.nested != 0) [[unlikely]]
      EndInside();
    else
      EndAt(base::ReadTicks());
  }
  // The same for one that ended at `ticks`, a moment ago.
  void EndAt(uint64_t ticks) {
    uint64_t ended = words_.ended.load(std::memory_order_relaxed);
    if (words_.begun.load(std::memory_order_relaxed) == ended) return;
    uint64_t duration_ticks = ticks - words_.begin_ticks.load(std::memory_order_relaxed);  // own thread's
    // Relaxed: a threshold that is one dispatch old is as good.
    if (duration_ticks > kept_ticks_.load(std::memory_order_relaxed)) [[unlikely]]
      Keep(duration_ticks);
    words_.ended.store(ended + 1, std::memory_order_release);  // publishes what is kept
  }

  // Whether the dispatch under way is recorded if it ends at `ticks`. Context: hot, on the loop's thread.
  bool IsKeptAt(uint64_t ticks) const {
    // Relaxed: own thread's, and any limit will do.
    return ticks - words_.begin_ticks.load(std::memory_order_relaxed) >
           kept_ticks_.load(std::memory_order_relaxed);
  }

  // The loop waits from now on, in a dispatch or not, until WaitEnd or the next Begin. While it waits
  // already, nothing happens. Context: hot, as End.
  void WaitBegin() {
    if (number_of_own() != 0) SetAside(base::ReadTicks());
  }
  // The wait is over: a dispatch begins that is no pair's, and lasts until the next WaitBegin; a pair
  // interrupts it. `tag` must stay readable until then; null: the tag of the pair around the wait, if
  // there is one. While the loop runs, nothing happens. Context: hot, as Begin.
  void WaitEnd(const char* tag) {
    if (number_of_own() == 0) BeginPairless(tag != nullptr ? tag : OpenTag(words_.nested), base::ReadTicks());
  }
  // The loop has come round: as WaitBegin and WaitEnd at the same time.
  void Turn(const char* tag) {
    const uint64_t ticks = base::ReadTicks();
    if (number_of_own() != 0) SetAside(ticks);
    BeginPairless(tag != nullptr ? tag : OpenTag(words_.nested), ticks);
  }

  // The dispatch under way runs a task that had waited for so long in a queue; of several, the longest
  // counts. In none, nothing happens. Context: hot. Three compares and two stores.
  void NoteQueueWait(int64_t wait_ns) {
    const uint64_t number =
        words_.begun.load(std::memory_order_relaxed);  // this and the next are own thread's
    if (number == words_.ended.load(std::memory_order_relaxed)) return;
    if (queue_wait_number_ == number && queue_wait_ns_ >= wait_ns) return;
    queue_wait_number_ = number;
    queue_wait_ns_ = wait_ns;
  }

  struct Dispatch {
    uint64_t number;       // 0 when the loop is idle
    uint64_t begin_ticks;  // kUntimed when the loop only counts
    const char* tag;       // readable as long as the dispatch goes on, and no longer
  };
  // The dispatch under way. A loop too busy to be read consistently is treated as idle: it
  // moves. Context: watchdog.
  Dispatch Read() const;
  // Context: watchdog.
  bool IsStillIn(uint64_t number) const {
    return words_.ended.load(std::memory_order_acquire) < number;  // pairs with the ends' stores
  }
  // The number of the dispatch under way, 0 between two. Context: any.
  uint64_t number_under_way() const {
    const uint64_t ended = words_.ended.load(std::memory_order_acquire);  // pairs with the ends' stores
    const uint64_t begun = words_.begun.load(std::memory_order_acquire);  // pairs with the begins'
    return begun == ended ? 0 : begun;
  }
  // For readers that may read no more than words: see LoopWords.
  const LoopWords& words() const { return words_; }
  // The number of dispatches that have begun. Context: watchdog.
  uint64_t begun() const { return words_.begun.load(std::memory_order_relaxed); }  // goes with nothing else
  // When the first dispatch with a time stamp began, of all loops that had this place (CLOCK_MONOTONIC); 0:
  // there was none. Context: any.
  int64_t first_begin_ns() const { return first_begin_ns_.load(std::memory_order_relaxed); }
  // The number that have ended; their records can be read by then. Context: watchdog.
  uint64_t ended() const { return words_.ended.load(std::memory_order_acquire); }  // pairs with End's store
  // Whether the last that began has a time stamp. Context: watchdog.
  bool is_timed() const { return words_.begin_ticks.load(std::memory_order_relaxed) != kUntimed; }
  // The number of those longer than the history's limit, which is assumed to be a millisecond, in this bucket
  // of a policies::DurationHistogram. Never reset. Context: watchdog.
  uint64_t long_count(size_t bucket) const {
    return long_counts_[bucket].load(std::memory_order_relaxed);  // see ended()
  }
  // The duration of the slow dispatch `number`, in ticks; 0 if it is not on record. Context: watchdog.
  uint64_t SlowDurationTicks(uint64_t number) const;
  // The durations, in ticks, from which a dispatch is recorded.
  struct Limits {
    uint64_t slow_ticks = UINT64_MAX;      // its exact duration is kept
    uint64_t history_ticks = UINT64_MAX;   // it is kept in the history
    uint64_t cpu_ticks = UINT64_MAX;       // … with its CPU time
    uint64_t note_ticks = UINT64_MAX;      // … and it is noted
    uint64_t cpu_read_interval_ticks = 0;  // by so much at most a CPU time is too long
  };
  // Context: watchdog.
  void SetLimits(const Limits& limits);
  // Unless there are limits: those for a first dispatch in which the watchdog gets no processor. Before the
  // loop's first dispatch.
  void SetFirstLimits();

  // Sets the place for its records, once; borrowed. While no dispatch is under way.
  void SetHistory(DispatchHistory* history) { history_ = history; }
  const DispatchHistory* history() const { return history_; }
  // The same for notes, which are never reset; even while the watchdog looks.
  void SetNotes(DispatchHistory* notes) { notes_.store(notes, std::memory_order_release); }  // publishes it
  const DispatchHistory* notes() const { return notes_.load(std::memory_order_acquire); }

  // The same for a track, which is for recordings: what is in the history, and what was asked for by
  // RequestTrack(). Never reset.
  void SetTrack(DispatchHistory* track) { track_.store(track, std::memory_order_release); }  // publishes it
  const DispatchHistory* track() const { return track_.load(std::memory_order_acquire); }
  // From now on `observer` is called at the end of each dispatch that has a time stamp; null: none is.
  // Context: any.
  void SetObserver(LoopObserver* observer);
  // The thread that begins dispatches from now on: the caller, or another process's.
  void SetThread(const base::Thread& thread) { thread_ = thread; }
  // The dispatch under way is kept in the track, however short it is. Context: any.
  void RequestTrack() {
    kept_ticks_.store(kRequested, std::memory_order_relaxed);  // at worst another dispatch is kept, or none
  }
  // The word that RequestTrack() sets to 0: for callers that may write no more than a word.
  std::atomic<uint64_t>* track_request() { return &kept_ticks_; }

  // The place of the loop in its registry, and the list that wakes are added to; once for all, before
  // its first dispatch.
  void SetPlace(uint32_t place, WokenProbes* woken) {
    place_ = place;
    woken_ = woken;
  }
  uint32_t place() const { return place_; }

  // Asks the loop to add itself to the woken ones with its next dispatch, until CancelWake(): one that begins
  // then is to be looked at within `look_within_ns`. A dispatch that has not seen this is one that Read()
  // sees after membarrier(2). Context: watchdog.
  void AskForWake(int64_t look_within_ns) {
    look_within_ns_.store(look_within_ns, std::memory_order_relaxed);  // published by the next store
    words_.is_watchdog_asleep.store(1, std::memory_order_release);
  }
  // Whether it has not begun one since.
  bool is_asked_for_wake() const {
    return words_.is_watchdog_asleep.load(std::memory_order_relaxed) != 0;  // after the fence
  }
  void CancelWake() {
    words_.is_watchdog_asleep.store(0, std::memory_order_relaxed);  // a needless wake does no harm
  }
  // To be called after anything begins that the watchdog must see. Context: hot, except once in
  // an idle spell.
  void WakeWatchdogIfAsleep() {
    // Relaxed: see AskForWake.
    if (words_.is_watchdog_asleep.load(std::memory_order_relaxed) != 0) [[unlikely]]
      WakeWatchdog();
  }
  void WakeWatchdog();
  // After WokenProbes::TakeAll(): returns the next one, and lets this one be added again. Context: watchdog.
  LoopProbe* TakeNextWoken() {
    LoopProbe* next = next_woken_;
    is_listed_.store(false);
    return next;
  }
  // See WokenProbes::Reset().
  void ForgetListed() { is_listed_.store(false); }

  // Idle again, for the next loop that takes this place. Not while the loop's thread uses it.
  void Reset();

  static constexpr uint64_t kUntimed = 0;

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
  // As kept_ticks_: all dispatches, of which the track has the one under way only, or an observer sees each.
  static constexpr uint64_t kRequested = 0;
  static constexpr uint64_t kObserved = 1;
  // Of the first limits, whose duration is not known yet: 1 to 200 ms, by the processor.
  static constexpr uint64_t kLongTicks = uint64_t{1} << 22;

  void BeginNext(uint64_t number, const char* tag, uint64_t ticks) {
    if (ticks >= cpu_read_due_ticks_.load(std::memory_order_relaxed)) [[unlikely]]  // a date, late or not
      BeginDue(ticks);
    // Release, each: a reader that gets a new value here must also see that the last dispatch has ended.
    words_.begin_ticks.store(ticks, std::memory_order_release);
    words_.tag.store(tag, std::memory_order_release);
    words_.begun.store(number, std::memory_order_release);
    WakeWatchdogIfAsleep();
  }
  // The number of the dispatch under way, 0 between two, for the loop's own thread.
  uint64_t number_of_own() const {
    // Relaxed: only this thread writes them.
    const uint64_t begun = words_.begun.load(std::memory_order_relaxed);
    return begun == words_.ended.load(std::memory_order_relaxed) ? 0 : begun;
  }
  // Whether the dispatch under way began with the end of a wait, or of a pair inside one that is open still.
  bool is_pairless() const { return pairless_number_ == number_of_own(); }
  // A pair begins while a dispatch is under way.
  void BeginInside(const char* tag);
  // The end of a pair where others are open.
  void EndInside();
  // Ends the dispatch under way; the pairs that are open are set aside.
  void SetAside(uint64_t ticks);
  void BeginPairless(const char* tag, uint64_t ticks);
  // The tag of the open pair of that number, from the outermost on: 1 is the first. Null if it is not known.
  const char* OpenTag(uint64_t pair) const {
    return pair == 0 || pair > open_tags_.size() ? nullptr : open_tags_[pair - 1];
  }
  void SetOpenTag(uint64_t pair, const char* tag) {
    if (pair <= open_tags_.size()) open_tags_[pair - 1] = tag;
  }
  // From which a dispatch that was not requested is recorded.
  uint64_t LeastTicks() const {
    return std::min(slow_ticks_.load(std::memory_order_relaxed),
                    history_ticks_.load(std::memory_order_relaxed));  // any limit will do
  }
  uint64_t KeptTicks() const {
    // Relaxed: a dispatch more or less.
    return observer_.load(std::memory_order_relaxed) != nullptr ? kObserved : LeastTicks();
  }
  // Records a dispatch that is beyond the limits, or requested.
  void Keep(uint64_t duration_ticks);
  void KeepWithTag(uint64_t duration_ticks, bool is_history);
  void KeepInHistory(DispatchHistory::Dispatch dispatch);
  // The slow part of a begin: at the first dispatch, and whenever the thread's clock is to be read again.
  void BeginDue(uint64_t ticks);
  void CountLong(uint64_t duration_ticks);
  // Reads the thread's CPU time, from which a slow dispatch's is computed.
  void ReadCpu(uint64_t ticks);

  LoopWords words_;  // first: a pointer to the probe is a pointer to them
  std::atomic<uint64_t> kept_ticks_{kNever};
  std::atomic<uint64_t> cpu_read_due_ticks_{0};
  int64_t cpu_ns_ = 0;              // when it was read last
  uint64_t queue_wait_number_ = 0;  // the dispatch that the next one is of
  int64_t queue_wait_ns_ = 0;

  // Limits, all but the least one: what the end of nearly every dispatch does not read.
  std::atomic<uint64_t> slow_ticks_{kNever};
  std::atomic<uint64_t> history_ticks_{kNever};
  std::atomic<uint64_t> cpu_ticks_{kNever};
  std::atomic<uint64_t> note_ticks_{kNever};
  std::atomic<uint64_t> cpu_read_interval_ticks_{0};
  std::atomic<uint64_t> slow_number_{0};
  std::atomic<uint64_t> slow_duration_ticks_{0};
  DispatchHistory* history_ = nullptr;
  std::atomic<int64_t> first_begin_ns_{0};
  std::atomic<DispatchHistory*> notes_{nullptr};
  std::atomic<DispatchHistory*> track_{nullptr};
  std::atomic<LoopObserver*> observer_{nullptr};
  base::Thread thread_;
  std::array<std::atomic<uint64_t>, policies::DurationHistogram::kBuckets> long_counts_{};

  uint64_t set_aside_ = 0;        // pairs that were open when the dispatch under way began
  bool is_first_a_turn_ = false;  // the first of these is no pair, but the time after a wait
  uint64_t pairless_number_ = 0;  // the last dispatch that is no pair's
  std::array<const char*, 16> open_tags_{};

  friend class WokenProbes;
  WokenProbes* woken_ = nullptr;
  LoopProbe* next_woken_ = nullptr;
  std::atomic<bool> is_listed_{false};
  uint32_t place_ = 0;
  std::atomic<int64_t> look_within_ns_{WokenProbes::kAtOnce};
};

}  // namespace lagwatch::watchdog
