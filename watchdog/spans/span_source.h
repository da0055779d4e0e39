// SPDX-License-Identifier: Apache-2.0
// The sources of a loop's spans, the things that must be over in time: one source for each kind.
#pragma once

#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/process/process.h"
#include "base/ticks.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/loops/loop_registry.h"
#include "watchdog/loops/watch_options.h"

namespace lagwatch::watchdog {

// Something of a loop that has begun and is to be over within a time: a dispatch, a scope, a task's wait.
struct Span {
  uint64_t number = 0;  // distinguishes it from the others of its kind; 0: none
  int64_t begin_ns = 0;
  Thresholds thresholds;
  const char* tag = nullptr;                 // readable as long as it goes on, and no longer
  int64_t read_again_within_ns = INT64_MAX;  // of a source that sees only spans under way at its looks
};

// Borrowed for a call.
struct SpanTools {
  const WatchOptions* options;
  const base::TickScale* tick_scale;
  const base::Clock* clock;
  int64_t last_look_ns = 0;  // of this loop; 0: there was none
  base::Process process;     // that has the loop

  // The begin of a span with the time stamp `begin_ticks`; `now_ns` without one.
  int64_t BeginNs(uint64_t begin_ticks, int64_t now_ns) const;
};

// A report's facts, while they are gathered.
class FactList {
 public:
  void Add(const char* name, int64_t number) {
    if (count_ < kMaxFacts) facts_[count_++] = {name, number};
  }
  // `text` is borrowed as long as the list is used.
  void AddText(const char* name, const char* text) {
    if (count_ < kMaxFacts) facts_[count_++] = {name, 0, text};
  }
  std::span<const Fact> all() const { return {facts_, count_}; }

 private:
  static constexpr size_t kMaxFacts = 96;

  Fact facts_[kMaxFacts];
  size_t count_ = 0;
};

// Context: watchdog; not thread-safe. Each loop has its own, because some keep state.
class SpanSource {
 public:
  virtual ~SpanSource() = default;
  virtual HangKind kind() const = 0;
  // Called once at each look, while the span that it returned before may go on. The number is 0 without a
  // span; the thresholds hold in any case. No threshold: the loop has nothing of this kind.
  virtual Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) = 0;
  // Whether the span `number` goes on, or did at the last look if that is unknown in between.
  virtual bool IsStillIn(uint64_t number, const WatchedLoop& loop) const = 0;
  virtual bool IsEndSeenBetweenLooks() const { return true; }
  // The duration of the span `number`, which is over, as the loop's own thread measured it; 0: it did not.
  virtual int64_t DurationNs(uint64_t, const WatchedLoop&, const SpanTools&) const { return 0; }
  // Adds facts of the span under way.
  virtual void AddFacts(const WatchedLoop&, FactList*) const {}
  // The loop's place has a new loop.
  virtual void Forget() {}
};

}  // namespace lagwatch::watchdog
