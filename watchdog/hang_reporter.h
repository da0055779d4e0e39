// SPDX-License-Identifier: Apache-2.0
// Reports a loop's hangs: to the sink with all evidence, and to the application's listener at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/process/mapped_memory.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/facts/schedule_facts.h"
#include "watchdog/hang_blame.h"
#include "watchdog/sample_ring.h"
#include "watchdog/spans/watched_spans.h"
#include "watchdog/thread_time.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// It decides nothing about which spans are hangs. Context: watchdog; not thread-safe.
class HangReporter {
 public:
  // All are borrowed.
  HangReporter(const LoopThread* thread, ThreadTime* time) : thread_(thread), time_(time) {}

  // The place has another loop.
  void BeginLoop(int64_t now_ns) { schedule_.Begin(now_ns); }
  // To be called at each whole look.
  void LookAtThread(int64_t now_ns) { schedule_.Look(thread_->thread(), now_ns); }
  // Reports a check that found the span in progress and over its threshold, unless the report would repeat
  // an earlier one. `samples` are those since the window opened, at least one.
  void ReportCheck(WatchedSpan* span, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                   int64_t now_ns, const WatchTools& tools);
  // Reports a hang that is over and of which no check was reported. A null `verdict` means the one that the
  // account of its time gives: its window must have been open.
  void ReportEnded(WatchedSpan* span, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                   int64_t duration_ns, const policies::Verdict* verdict, const WatchTools& tools);
  // Adds the samples of a hang that are in the ring and new. To be called after each that is taken.
  void WeighSamples(const SpanWatch& watch, const SampleRing& ring, const WatchTools& tools);
  // Finds out which report of a hang that is over blames what took most of its time; without one makes it.
  // To be called before ReportEnd().
  void CorrectBlame(WatchedSpan* span, const WatchedLoop& loop, const SampleRing& ring, int64_t duration_ns,
                    const WatchTools& tools);
  // No hang is under way.
  void ReleaseUnused() {
    blame_.reset();
    weighed_ = 0;
  }
  // Reports the end of a hang, by each of its reports.
  void ReportEnd(const WatchedSpan& span, int64_t duration_ns, const WatchTools& tools) const;
  // Counts a span that is over and no hang, if it would have been one.
  void CountSuppressed(const WatchedSpan& span, const WatchedLoop& loop, const WatchTools& tools) const;

 private:
  enum class Moment : uint8_t { kCheck, kCorrection };
  // Returns false when the report was lost. A correction is of a span that is over: nothing is captured.
  bool Report(WatchedSpan* span, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
              const stack::Stack& expensive, int64_t now_ns, const policies::Verdict* verdict,
              const WatchTools& tools, Moment moment = Moment::kCheck);
  // Notes the call that the hang's next report blames.
  void NoteBlame(const SpanWatch& watch, const stack::Stack& expensive);
  // The last report of the hang that may be right; none if none is.
  std::optional<size_t> FindRightReport(const SpanWatch& watch, uint32_t heaviest) const;
  HangNotice Notice(const WatchedSpan& span, int64_t elapsed_ns) const;

  const LoopThread* thread_;
  ThreadTime* time_;
  ScheduleWatch schedule_;
  base::MappedBlock<HangBlame> blame_;  // of the dispatch that hangs; null: none does
  uint64_t weighed_ = 0;                // its number; 0: none
  uint64_t next_sample_ = 0;            // that was not added yet
  std::array<uint32_t, SpanWatch::kMaxReportsPerHang> blamed_calls_{};  // by its reports, in their order
  bool had_unanswered_window_ = false;                                  // at the last report
};

}  // namespace lagwatch::watchdog
