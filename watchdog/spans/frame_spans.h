// SPDX-License-Identifier: Apache-2.0
// A loop's frames: one that takes too long gets its stacks, and all of them are counted.
#pragma once

#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// A program that is slow at every frame must not be made slower by a report of each: after a slow frame the
// next ones are only counted for 10 s.
class FrameSpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kFrames; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop& loop) const override {
    return loop.frames.IsStillIn(number);
  }
  int64_t DurationNs(uint64_t number, const WatchedLoop& loop, const SpanTools&) const override {
    return loop.frames.SlowDurationNs(number);
  }
  void AddFacts(const WatchedLoop& loop, FactList* facts) const override;
  void Forget() override { reported_number_ = 0; }

 private:
  static constexpr int64_t kPauseNs = 10 * base::kNsPerSecond;

  uint64_t reported_number_ = 0;  // the last frame that was seen over the threshold
  int64_t reported_ns_ = 0;       // when
};

// The stages of the loop's last slow frame, if that lay between `begin_ns` and `end_ns`. Context: watchdog.
void AddSlowFrameFacts(const LoopFrames& frames, int64_t begin_ns, int64_t end_ns, FactList* facts);

// Hands to the sink what the loop's frames were since the last look.
// Context: watchdog; not thread-safe. Each loop has its own.
class FrameCounts {
 public:
  // To be called at each look.
  void Report(const WatchedLoop& loop, const char* loop_name, int64_t now_ns, HangSink* sink);
  // The process was stopped since the last call of Tell(): frames made meanwhile are not reported.
  void Distrust(const WatchedLoop& loop) { last_distrusted_ = loop.frames.begun(); }
  // Skips frames that are not to be reported: made before the watchdog began, or by a loop that was gone
  // before it was seen.
  void Skip(const WatchedLoop& loop);
  // Whether nothing goes on and nothing is left to report: no look is needed before the next frame.
  bool IsQuiet(const WatchedLoop& loop, int64_t now_ns) const;

 private:
  void ReportUpTo(const policies::FrameTotals& totals, uint64_t scene, FrameEvent* event, HangSink* sink);

  policies::FrameTotals reported_;
  uint64_t reported_scene_ = 0;  // the last frame's of those
  uint64_t reported_scene_changes_ = 0;
  uint64_t last_ended_ = 0;       // when the sums were last read
  uint64_t last_distrusted_ = 0;  // the frame that may not be over yet; 0: there is none
  int64_t last_reported_ns_ = 0;
};

}  // namespace lagwatch::watchdog
