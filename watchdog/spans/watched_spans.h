// SPDX-License-Identifier: Apache-2.0
// The spans of one loop that are watched: one of each kind at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "watchdog/events/value_usage.h"
#include "watchdog/spans/frame_spans.h"
#include "watchdog/spans/loop_spans.h"
#include "watchdog/spans/span_watch.h"

namespace lagwatch::watchdog {

// One kind of span, and the one of them that is watched.
struct WatchedSpan {
  SpanSource* source;
  SpanWatch watch = {};
  int64_t counted_ns = 0;      // the part of its duration that the usage has by now; 0: it is not counted
  bool is_background = false;  // the application was in the background when the hang was found
  ValueIds values{};           // the program's own, likewise

  HangKind kind() const { return source->kind(); }
  bool IsStillIn(const WatchedLoop& loop) const {
    return watch.number() != 0 && source->IsStillIn(watch.number(), loop);
  }
  // The duration of the span, which is over, as the loop's thread measured it; 0: it did not.
  int64_t MeasuredNs(const WatchedLoop& loop, const SpanTools& tools) const {
    return source->DurationNs(watch.number(), loop, tools);
  }
};

// Context: watchdog; not thread-safe.
class WatchedSpans {
 public:
  WatchedSpans() = default;
  WatchedSpans(const WatchedSpans&) = delete;
  WatchedSpans& operator=(const WatchedSpans&) = delete;

  // In the order in which they are looked at.
  std::array<WatchedSpan*, 7> all() {
    return {&dispatch, &busy, &task, &scope, &idle_handler, &input, &frame};
  }
  std::array<const WatchedSpan*, 7> all() const {
    return {&dispatch, &busy, &task, &scope, &idle_handler, &input, &frame};
  }
  // Whether one of them is over its threshold, as far as was seen.
  bool IsHanging() const {
    return std::ranges::any_of(all(), [](const WatchedSpan* span) { return span->watch.is_hanging(); });
  }
  bool IsAnyWindowOpen() const {
    return std::ranges::any_of(all(), [](const WatchedSpan* span) { return span->watch.is_window_open(); });
  }
  // Whether one whose window is open goes on.
  bool IsAnyGoingOn(const WatchedLoop& loop) const {
    return std::ranges::any_of(all(), [&](const WatchedSpan* span) {
      return span->watch.is_window_open() && span->IsStillIn(loop);
    });
  }
  bool IsEmpty() const {
    return std::ranges::all_of(all(), [](const WatchedSpan* span) { return span->watch.number() == 0; });
  }

 private:
  DispatchSpans dispatches_;
  BusySpans busy_;
  TaskSpans tasks_;
  ScopeSpans scopes_;
  IdleHandlerSpans idle_handlers_;
  InputSpans inputs_;
  FrameSpans frames_;

 public:
  WatchedSpan dispatch{&dispatches_};
  WatchedSpan busy{&busy_};
  WatchedSpan task{&tasks_};
  WatchedSpan scope{&scopes_};
  WatchedSpan idle_handler{&idle_handlers_};
  WatchedSpan input{&inputs_};
  WatchedSpan frame{&frames_};
};

}  // namespace lagwatch::watchdog
