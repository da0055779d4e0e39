// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/frame_slices.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::sdk {

void FrameSlices::Add(const watchdog::FrameEvent& event, const char (&scene)[TextCell::kMaxBytes],
                      uint64_t scene_number) {
  FrameSlice* end = open_ + open_count_;
  FrameSlice* slice = std::find_if(open_, end, [&](const FrameSlice& open) {
    return std::strncmp(open.loop, event.loop_name, sizeof open.loop - 1) == 0;
  });
  char text[TextCell::kMaxBytes];
  std::memcpy(text, scene, sizeof text);
  if (slice != end && slice->scene_number == event.scene) {
    std::memcpy(text, slice->scene, sizeof text);
    scene_number = event.scene;
  }
  bool is_over = slice != end && (slice->scene_number != scene_number ||
                                  event.seen_mono_ns - slice->begin_mono_ns >= kSliceNs);
  if (is_over) {
    Finish(slice);
    slice = open_ + open_count_;
  }
  if (slice == open_ + open_count_) {
    if (open_count_ == kMaxOpen) return;
    ++open_count_;
    *slice = {};
    std::memcpy(slice->loop, event.loop_name, strnlen(event.loop_name, sizeof slice->loop - 1));
    std::memcpy(slice->scene, text, sizeof slice->scene);
    slice->scene_number = scene_number;
    slice->begin_mono_ns = event.seen_mono_ns;
  }
  slice->end_mono_ns = event.seen_mono_ns;
  slice->refresh_interval_ns = event.refresh_interval_ns;
  slice->frames += event.frames;
}

void FrameSlices::FinishDue(int64_t now_ns) {
  for (size_t i = open_count_; i-- > 0;) {
    if (now_ns - open_[i].begin_mono_ns >= kSliceNs) Finish(&open_[i]);
  }
}

bool FrameSlices::IsWriteDue(int64_t now_ns) const {
  if (finished_count_ == 0) return false;
  return open_count_ == 0 || finished_count_ >= kMaxFinished / 2 ||
         now_ns - finished_[0].begin_mono_ns >= kWritePeriodNs;
}

// If they are not written, the oldest is dropped.
void FrameSlices::Finish(FrameSlice* open) {
  if (finished_count_ == kMaxFinished) {
    --finished_count_;
    std::copy(finished_ + 1, finished_ + kMaxFinished, finished_);
  }
  finished_[finished_count_++] = *open;
  *open = open_[--open_count_];
}

bool EncodeSlice(const FrameSlice& slice, const base::Uuid& id, const ProgramFacts& facts,
                 report::FixedBuffer* buffer) {
  const base::Clock& clock = base::SystemClock();
  return report::EncodeFrameSlice(
      {.id = id,
       .session_id = facts.session_id,
       .app = facts.app,
       .app_version = facts.app_version,
       .user = facts.user,
       .loop = facts.scrubber.Text(slice.loop).view(),
       .scene = facts.scrubber.Text({slice.scene, strnlen(slice.scene, sizeof slice.scene)}).view(),
       .begin_wall_ms = clock.WallMs() - (clock.MonoNs() - slice.begin_mono_ns) / base::kNsPerMs,
       .duration_ns = slice.end_mono_ns - slice.begin_mono_ns,
       .refresh_interval_ns = slice.refresh_interval_ns,
       .frames = slice.frames},
      buffer);
}

}  // namespace lagwatch::sdk
