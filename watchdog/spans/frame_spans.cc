// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/frame_spans.h"

#include <array>

namespace lagwatch::watchdog {

Span FrameSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  const int64_t slow_ns = tools.options->slow_frame_ns;
  if (loop.frames.begun() == 0 || slow_ns == 0) return {};
  Span span;
  span.thresholds.threshold_ns = slow_ns;
  const LoopFrames::Frame frame = loop.frames.Read();
  bool is_in_pause =
      reported_number_ != 0 && frame.number != reported_number_ && now_ns - reported_ns_ < kPauseNs;
  if (frame.number == 0 || is_in_pause) return span;
  span.number = frame.number;
  span.begin_ns = frame.begin_ns;
  if (now_ns - frame.begin_ns >= slow_ns) {
    reported_number_ = frame.number;
    reported_ns_ = now_ns;
  }
  return span;
}

void FrameSpans::AddFacts(const WatchedLoop& loop, FactList* facts) const {
  constexpr int64_t kNsPerUs = 1000;
  facts->AddText("frame_stage", policies::FrameStageName(loop.frames.stage()));
  facts->Add("refresh_interval_us", loop.frames.refresh_interval_ns() / kNsPerUs);
}

void AddSlowFrameFacts(const LoopFrames& frames, int64_t begin_ns, int64_t end_ns, FactList* facts) {
  constexpr std::array<const char*, policies::kFrameStages> kNames = {
      "frame_other_ms",  "frame_input_ms", "frame_animation_ms",
      "frame_layout_ms", "frame_draw_ms",  "frame_submit_ms"};
  // Dispatches are timed by ticks, frames by the clock.
  constexpr int64_t kToleranceNs = 1 * base::kNsPerMs;
  LoopFrames::SlowFrame frame;
  if (!frames.ReadSlow(&frame)) return;
  if (frame.begin_ns < begin_ns - kToleranceNs || frame.begin_ns + frame.duration_ns > end_ns + kToleranceNs)
    return;
  facts->Add("frame_ms", frame.duration_ns / base::kNsPerMs);
  for (size_t i = 0; i < kNames.size(); ++i) {
    const auto stage_ms = static_cast<int64_t>(frame.by_stage_ns[i]) / base::kNsPerMs;
    if (stage_ms != 0) facts->Add(kNames[i], stage_ms);
  }
}

void FrameCounts::Report(const WatchedLoop& loop, const char* loop_name, int64_t now_ns, HangSink* sink) {
  LoopFrames::Totals totals;
  last_ended_ = loop.frames.ended();  // before the sums: what ends meanwhile is seen at the next look
  if (last_distrusted_ != 0) {
    Skip(loop);
    if (!loop.frames.IsStillIn(last_distrusted_)) last_distrusted_ = 0;
    return;
  }
  if (!loop.frames.ReadTotals(&totals) || totals.all.frames == reported_.frames) return;
  FrameEvent event{};
  event.loop_name = loop_name;
  event.seen_mono_ns = now_ns;
  event.refresh_interval_ns = loop.frames.refresh_interval_ns();
  // Of several changes since the last look all but the last are one: scenes so short are not worth more.
  if (totals.scene_changes != reported_scene_changes_)
    ReportUpTo(totals.before, reported_scene_, &event, sink);
  ReportUpTo(totals.all, totals.scene, &event, sink);
  reported_scene_ = totals.scene;
  reported_scene_changes_ = totals.scene_changes;
  last_reported_ns_ = now_ns;
}

void FrameCounts::ReportUpTo(const policies::FrameTotals& totals, uint64_t scene, FrameEvent* event,
                             HangSink* sink) {
  if (totals.frames == reported_.frames) return;
  event->scene = scene;
  event->frames = totals.Since(reported_);
  reported_ = totals;
  sink->OnFrames(*event);
}

void FrameCounts::Skip(const WatchedLoop& loop) {
  LoopFrames::Totals totals;
  bool is_read = false;
  constexpr int kTries = 1000;  // the loop's thread writes them for some nanoseconds a frame
  for (int i = 0; i < kTries && !is_read; ++i) is_read = loop.frames.ReadTotals(&totals);
  if (!is_read) return;  // sums never decrease, so what was reported before stays right
  reported_ = totals.all;
  reported_scene_ = totals.scene;
  reported_scene_changes_ = totals.scene_changes;
}

bool FrameCounts::IsQuiet(const WatchedLoop& loop, int64_t now_ns) const {
  bool may_be_collecting =
      last_reported_ns_ != 0 && now_ns - last_reported_ns_ <= FrameEvent::kMaxCollectedNs;
  // A frame that ended after the sums were read is still to be reported.
  return !may_be_collecting && loop.frames.is_idle() && loop.frames.begun() == last_ended_;
}

}  // namespace lagwatch::watchdog
