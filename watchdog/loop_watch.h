// SPDX-License-Identifier: Apache-2.0
// The watchdog's look at one loop: decides which spans are hangs, when to sample, and when to look again.
//
// Of each kind of thing that can take too long it watches one at a time (span_source.h, span_watch.h).
// Samples are taken only in the ring's window before a check, so spans that are over by then are never
// disturbed, and while a hang goes on; all kinds share the ring.
//
//   spans ──▶ LoopWatch ──samples──▶ SampleRing ──▶ HangReporter ──▶ HangSink, HangListener
//                 └──each look──▶ UsageCollector ──▶ UsagePeriod
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "policies/time_discount.h"
#include "watchdog/evidence/idle_places.h"
#include "watchdog/hang_reporter.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/sample_ring.h"
#include "watchdog/spans/frame_spans.h"
#include "watchdog/spans/watched_spans.h"
#include "watchdog/thread_time.h"
#include "watchdog/unproven_wait.h"
#include "watchdog/usage_collector.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe.
class LoopWatch {
 public:
  LoopWatch() = default;
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;

  // Lends it room for the options' `ring_size` samples, where the tools have no rings. To be called once,
  // before anything else.
  void SetRing(LoopSample* ring) { ring_.SetRoom(ring); }
  void GiveRingBack(SampleRings* rings) { ring_.GiveRoomBack(rings); }
  // Whether the watchdog looks at it; for LoopWatches. False when that is as it was.
  bool SetActive(bool is_active) { return std::exchange(is_active_, is_active) != is_active; }
  bool is_active() const { return is_active_; }
  // In how long at the latest a dispatch that begins now is to be looked at, as of the last look.
  int64_t idle_sleep_ns() const { return idle_sleep_ns_; }
  // Skips the place's present counts, which were made before it was watched.
  void SkipWhatWasBefore(const WatchedLoop& loop) {
    usage_.Skip(loop);
    frame_counts_.Skip(loop);
  }
  // Looks at the loop, which is in use. Returns when to look again (CLOCK_MONOTONIC).
  int64_t Look(WatchedLoop* loop, const WatchTools& tools);
  // Time passed that was not the program's. To be called before the next look.
  void Discount(const policies::DiscountedTime& findings);
  // The same for a loop that is not looked at, whose use alone counts.
  void DiscountParked(int64_t stopped_ns) { usage_.Discount(stopped_ns); }
  // Whether nothing goes on, nothing has begun since the look before, and nothing but a dispatch, which wakes
  // the watchdog, is to be expected of this loop.
  bool IsQuiet(const WatchedLoop& loop) const;
  // Whether something of this loop is over its threshold, as far as was seen.
  bool IsHanging() const { return spans_.IsHanging(); }
  // Whether something of it is, or is so close to it that samples are taken.
  bool IsNearHang() const { return is_window_open_ || IsHanging() || unproven_.is_under_way(); }
  // Finishes watched spans that are over by now. Captures nothing.
  void FinishIfOver(const WatchedLoop& loop, const WatchTools& tools);
  // Reports the end of every hang that is under way: the process ends, and the loop with it.
  void FinishHangs(const WatchedLoop& loop, const WatchTools& tools);
  // Adds the loop's usage since the last look. To be called before usage is reported.
  void CollectUsage(const WatchedLoop& loop, const WatchTools& tools);
  // The loop's place is empty, or was taken by another loop.
  void Forget(const WatchedLoop& loop, const WatchTools& tools);

 private:
  void BeginLoop(const WatchedLoop& loop, const WatchTools& tools);
  // Nothing is due at this look except a sample: watched spans still go on.
  bool IsAllAsBefore(const WatchedLoop& loop, int64_t now_ns) const;
  int64_t NextLookNs(int64_t now_ns, const WatchTools& tools) const;
  // Whether tasks wait behind a dispatch that is a hang itself; they count again when that is over.
  bool IsReportedByDispatch(const WatchedSpan& span) const {
    return &span == &spans_.task && !span.watch.is_hanging() && spans_.dispatch.watch.is_hanging();
  }
  // Reads the present span and opens its window when that is due. Returns the time of the next look at a span
  // of the kind that begins now.
  int64_t Follow(WatchedSpan* span, const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  bool IsForADebugger(int64_t now_ns, const WatchTools& tools);
  void OpenWindow(WatchedSpan* span, const WatchedLoop& loop, const char* tag, int64_t now_ns,
                  const WatchTools& tools);
  void Check(WatchedSpan* span, const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  void Finish(WatchedSpan* span, const WatchedLoop& loop, const WatchTools& tools);
  // Reports a hang that was over before the watchdog could look at it, because it got no processor, or was
  // kept waiting for the address space that the hang's thread was changing. False when it was not kept from
  // anything.
  bool TryReportLate(WatchedSpan* span, const WatchedLoop& loop, const WatchTools& tools);
  // Likewise, the dispatches that the last CollectUsage() has found and no look.
  void ReportUnseen(const WatchedLoop& loop, const WatchTools& tools);
  bool TryReportUnseen(const LongDispatch& dispatch, const WatchedLoop& loop, const WatchTools& tools);
  // Of a dispatch that hangs, what its new samples say of its blame.
  void WeighSamples(const WatchTools& tools);
  void ReleaseUnused(const WatchedLoop& loop, const WatchTools& tools);

  // Whether a dispatch that was inferred from the thread's waits is spent idle, as far as a look shows.
  bool MayIdle(const WatchedSpan& span, const WatchedLoop& loop) const {
    return &span == &spans_.dispatch && !span.watch.is_hanging() && loop.is_inferred.load();
  }
  // Does what an answer other than kHang asks for.
  void Rest(SpanWatch* watch, IdlePlaces::Answer answer, int64_t now_ns, const WatchTools& tools);
  // Reports a hang that might have been idle, and is over by now. Returns false if it was idle.
  bool TryReportUnproven(WatchedSpan* span, const WatchedLoop& loop, const WatchTools& tools);
  // Whether the thread, whose newest stack that is, cannot idle there: it waits for a lock; or the function
  // that its loop waits in has called another one, which waits for something else.
  bool IsCertain(const WatchedLoop& loop, const stack::Stack& stack, const WatchTools& tools) const;
  // Whether the thread is still within the call in which the last sample found it.
  bool IsStillAsleep(const WatchedLoop& loop, const WatchTools& tools);

  bool is_active_ = false;
  int64_t idle_sleep_ns_ = 0;
  // The loop whose place this is: a generation to notice that there is a new one.
  uint32_t generation_ = 0;
  LoopThread thread_;
  bool is_thread_kept_ = false;
  bool keeps_thread_files_ = false;  // the thread's files, in `thread_.files`

  WatchedSpans spans_;
  ThreadTime time_{&thread_};
  SampleRing ring_{&spans_, &time_};  // has room while something is over its window
  HangReporter reporter_{&thread_, &time_};
  UsageCollector usage_{&thread_};
  FrameCounts frame_counts_;

  IdlePlaces idle_places_;
  UnprovenWait unproven_;
  bool has_returned_ = true;       // a finished dispatch has ended by its thread's next wait
  uint64_t unproven_samples_ = 0;  // taken before the last answer kUnproven

  std::array<uint64_t, 2> followed_{};  // the last dispatches that looks have found
  bool is_window_open_ = false;         // of anything
  int64_t next_whole_look_ns_ = 0;
  Thresholds last_thresholds_;
  int64_t tracer_read_ns_ = 0;
  int64_t last_look_ns_ = 0;
  policies::DiscountedTime found_since_look_;
  uint64_t last_begun_ = 0;
  bool has_begun_nothing_ = false;
};

}  // namespace lagwatch::watchdog
