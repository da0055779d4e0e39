// SPDX-License-Identifier: Apache-2.0
// The watchdog's state of one loop, and its actions at each look.
//
// Of each kind of thing that can take too long it watches one at a time (span_source.h, span_watch.h).
// Samples are taken only in the ring's window before a check, so spans that are over by then are never
// disturbed; all kinds share the ring.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/ticks.h"
#include "policies/time_discount.h"
#include "policies/verdict.h"
#include "stack/stack_capturer.h"
#include "stack/threads/thread_counters.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/events/usage_period.h"
#include "watchdog/evidence/idle_places.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/samples/sample_rings.h"
#include "watchdog/samples/thread_lister.h"
#include "watchdog/samples/usage_reader.h"
#include "watchdog/samples/wait_chain.h"
#include "watchdog/spans/busy_spans.h"
#include "watchdog/spans/frame_spans.h"
#include "watchdog/spans/probe_spans.h"
#include "watchdog/spans/queue_spans.h"
#include "watchdog/spans/scope_spans.h"
#include "watchdog/spans/span_watch.h"
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
  void SetRing(LoopSample* ring) { ring_ = ring; }
  void GiveRingBack(SampleRings* rings) { rings->GiveBack(std::exchange(ring_, nullptr)); }
  // Whether the watchdog looks at it; for LoopWatches. False when that is as it was.
  bool SetActive(bool is_active) { return std::exchange(is_active_, is_active) != is_active; }
  bool is_active() const { return is_active_; }
  // In how long at the latest a dispatch that begins now is to be looked at, as of the last look.
  int64_t idle_sleep_ns() const { return idle_sleep_ns_; }
  // Skips the place's present counts, which were made before it was watched.
  void SkipWhatWasBefore(const WatchedLoop& loop) {
    usage_reader_.Skip(loop.probe);
    frame_counts_.Skip(loop);
  }
  // Looks at the loop, which is in use. Returns when to look again (CLOCK_MONOTONIC).
  int64_t Look(WatchedLoop* loop, const WatchTools& tools);
  // Time passed that was not the program's. To be called before the next look.
  void Discount(const policies::DiscountedTime& findings);
  // The same for a loop that is not looked at, whose use alone counts.
  void DiscountParked(int64_t stopped_ns) {
    if (last_usage_ns_ != 0) last_usage_ns_ += stopped_ns;
  }
  // Whether nothing goes on, nothing has begun since the look before, and nothing but a dispatch, which wakes
  // the watchdog, is to be expected of this loop.
  bool IsQuiet(const WatchedLoop& loop) const;
  // Whether something of this loop is over its threshold, as far as was seen.
  bool IsHanging() const;
  // Finishes watched spans that are over by now. Captures nothing.
  void FinishIfOver(const WatchedLoop& loop, const WatchTools& tools);
  // Reports the end of every hang that is under way: the process ends, and the loop with it.
  void FinishHangs(const WatchedLoop& loop, const WatchTools& tools);
  // Adds the loop's usage since the last look. To be called before usage is reported.
  void CollectUsage(const WatchedLoop& loop, const WatchTools& tools);
  // The loop's place is empty, or was taken by another loop.
  void Forget(const WatchedLoop& loop, const WatchTools& tools);

 private:
  // One kind of span, and the one of them being watched.
  struct Watched {
    SpanSource* source;
    SpanWatch watch;
    int64_t counted_ns = 0;      // of its hang, counted by now
    bool is_background = false;  // that hang was found while the application was there

    bool IsStillIn(const WatchedLoop& loop) const {
      return watch.number() != 0 && source->IsStillIn(watch.number(), loop);
    }
  };

  // Nothing is due at this look except a sample: watched spans still go on.
  bool IsAllAsBefore(const WatchedLoop& loop, int64_t now_ns) const;
  int64_t NextLookNs(int64_t now_ns, const WatchTools& tools) const;
  // Whether tasks wait behind a dispatch that is a hang itself; they count again when that is over.
  bool IsToldByDispatch(const Watched& watched) const {
    return watched.source == &tasks_ && !watched.watch.is_hanging() && watched_[0].watch.is_hanging();
  }
  // Reads the present span and opens its window when that is due. Returns the time of the next look at a span
  // of the kind that begins now.
  int64_t Follow(Watched* watched, const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  bool IsForADebugger(int64_t now_ns, const WatchTools& tools);
  // Whether a dispatch that was inferred from the thread's waits is spent idle, as far as a look shows.
  bool MayIdle(const Watched& watched, const WatchedLoop& loop) const {
    return watched.source == &dispatches_ && !watched.watch.is_hanging() && loop.is_inferred.load();
  }
  // Does what an answer other than kHang asks for.
  static void Rest(SpanWatch* watch, IdlePlaces::Answer answer, int64_t now_ns, const WatchTools& tools);
  void Finish(Watched* watched, const WatchedLoop& loop, const WatchTools& tools);
  void OpenWindow(Watched* watched, const WatchedLoop& loop, const char* tag, int64_t now_ns,
                  const WatchTools& tools);
  // The thread's time on processors and waiting for one so far: distinguishes a stop of the process, in which
  // both stand still, from a wait of the watchdog's own.
  struct Activity {
    int64_t mono_ns = 0;  // 0: nothing is known
    int64_t active_ns = 0;
  };
  Activity ReadActivity() const;
  bool HasBeenActive(int64_t stopped_ns) const;
  // Reports a hang that was over before the watchdog could look at it, because it was kept waiting for the
  // address space that the hang's thread was changing. False when it was not kept from anything.
  bool TryReportLate(Watched* watched, const WatchedLoop& loop, const WatchTools& tools);
  // Reports a hang that might have been idle, and is over by now. Returns false if it was idle.
  bool TryReportUnproven(Watched* watched, const WatchedLoop& loop, const WatchTools& tools);
  // Whether the thread is still within the call in which the last sample found it.
  bool IsStillAsleep(const WatchedLoop& loop, const WatchTools& tools);
  // Finds the hang's begin by its end, and calls the listener.
  void BeginEnded(Watched* watched, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                  int64_t duration_ns, const WatchTools& tools);
  // Looks at the thread before anything that may wait for its memory.
  void OpenAccount(const WatchedLoop& loop);
  // Of whatever is going on, once for all kinds. Unless it `is_needed_now`, it is outstanding until the next
  // look: nothing waits for the answer of a thread that runs.
  void TakeSample(const WatchedLoop& loop, int64_t now_ns, bool is_needed_now, const WatchTools& tools);
  // Adds the outstanding sample, if there is one and its span still goes on.
  void CollectSample(const WatchedLoop& loop, const WatchTools& tools);
  // Whether something is going on whose window is open.
  bool IsAnyGoingOn(const WatchedLoop& loop) const;
  policies::ThreadUse Account(int32_t tid, const policies::ThreadLook& look);
  policies::Verdict Judge(const Watched& watched, const WatchedLoop& loop, WaitOutcome outcome);
  void Check(Watched* watched, const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  // Null when there is no memory for samples.
  LoopSample* NextSample(int64_t now_ns, const WatchTools& tools);
  bool HasRing(const WatchTools& tools);
  void GiveRingBackIfUnused(const WatchedLoop& loop, const WatchTools& tools);
  // False when the report was lost.
  bool Report(Watched* watched, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
              const stack::Stack& expensive, int64_t now_ns, const WatchTools& tools);

  // Brings the usage up to a hang's duration.
  void CountHang(Watched* watched, int64_t duration_ns, const WatchTools& tools);
  // Counts spans that are no hangs, but would have been.
  void CountSuppressed(const Watched& watched, const WatchedLoop& loop, const WatchTools& tools);
  void ReadNotes(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools);
  void TellNote(const DispatchHistory::Dispatch& note, const WatchedLoop& loop, int64_t now_ns,
                const WatchTools& tools);
  void TellSlow(const DispatchHistory::Dispatch& note, const WatchedLoop& loop, int64_t end_ns,
                int64_t duration_ns, const WatchTools& tools);
  HangNotice Notice(const Watched& watched, int64_t elapsed_ns) const;

  bool is_active_ = false;
  int64_t idle_sleep_ns_ = 0;
  LoopSample* ring_ = nullptr;  // while something is over its window
  IdlePlaces idle_places_;
  bool has_returned_ = true;       // a finished dispatch has ended by its thread's next wait
  uint64_t unproven_samples_ = 0;  // taken before the last answer kUnproven
  uint64_t sample_count_ = 0;      // taken so far; the ring holds the last of them
  int64_t next_sample_ns_ = 0;
  bool is_sample_outstanding_ = false;
  bool is_window_open_ = false;  // of anything
  int64_t next_whole_look_ns_ = 0;
  Thresholds last_thresholds_;
  int64_t tracer_read_ns_ = 0;
  // The loop whose place this is: a generation to notice that there is a new one.
  uint32_t generation_ = 0;
  int32_t tid_ = 0;
  stack::ThreadFiles* files_ = nullptr;  // once there is a loop
  bool is_thread_kept_ = false;
  bool keeps_thread_files_ = false;  // the thread's files, in `files_`
  char name_[WatchedLoop::kMaxNameBytes] = {};
  int64_t last_look_ns_ = 0;
  policies::DiscountedTime found_since_look_;
  uint64_t last_begun_ = 0;
  bool has_begun_nothing_ = false;

  UsageReader usage_reader_;
  int64_t last_usage_ns_ = 0;    // earlier usage is reported already
  bool was_background_ = false;  // the application, then
  // The last stop of the process, somewhere between two looks.
  struct {
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    int64_t lasted_ns = 0;
  } last_stop_;

  // The account of the thread's time from the first window of a span.
  bool is_account_open_ = false;
  Activity activity_;
  bool is_account_fresh_ = false;  // opened since the last sample
  policies::TimeAccount account_;
  stack::ThrottleCounters throttle_begin_;

  DispatchSpans dispatches_;
  BusySpans busy_;
  TaskSpans tasks_;
  ScopeSpans scopes_;
  IdleHandlerSpans idle_handlers_;
  InputSpans inputs_;
  FrameSpans frames_;
  FrameCounts frame_counts_;
  Watched watched_[7] = {{&dispatches_, {}},    {&busy_, {}},   {&tasks_, {}}, {&scopes_, {}},
                         {&idle_handlers_, {}}, {&inputs_, {}}, {&frames_, {}}};
};

}  // namespace lagwatch::watchdog
