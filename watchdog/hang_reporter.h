// SPDX-License-Identifier: Apache-2.0
// Reports a loop's hangs: to the sink with all evidence, and to the application's listener at once.
#pragma once

#include <cstdint>
#include <span>

#include "watchdog/events/hang_listener.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/spans/watched_spans.h"
#include "watchdog/thread_time.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// It decides nothing about which spans are hangs. Context: watchdog; not thread-safe.
class HangReporter {
 public:
  // All are borrowed.
  HangReporter(const LoopThread* thread, ThreadTime* time) : thread_(thread), time_(time) {}

  // Reports a check that found the span in progress and over its threshold, unless the report would repeat
  // an earlier one. `samples` are those since the window opened, at least one.
  void ReportCheck(WatchedSpan* span, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                   int64_t now_ns, const WatchTools& tools);
  // Reports a hang that is over and of which no check was reported. A null `verdict` means the one that the
  // account of its time gives: its window must have been open.
  void ReportEnded(WatchedSpan* span, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                   int64_t duration_ns, const policies::Verdict* verdict, const WatchTools& tools);
  // Reports the end of a hang, by each of its reports.
  void ReportEnd(const WatchedSpan& span, int64_t duration_ns, const WatchTools& tools) const;
  // Counts a span that is over and no hang, if it would have been one.
  void CountSuppressed(const WatchedSpan& span, const WatchedLoop& loop, const WatchTools& tools) const;

 private:
  // Returns false when the report was lost.
  bool Report(WatchedSpan* span, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
              const stack::Stack& expensive, int64_t now_ns, const policies::Verdict* verdict,
              const WatchTools& tools);
  HangNotice Notice(const WatchedSpan& span, int64_t elapsed_ns) const;

  const LoopThread* thread_;
  ThreadTime* time_;
};

}  // namespace lagwatch::watchdog
