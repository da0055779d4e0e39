// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_frames.h"

#include <algorithm>

namespace lagwatch::watchdog {
namespace {

using policies::FrameStage;
using policies::RefreshInterval;

// Only the loop's thread writes these sums.
void Add(std::atomic<uint64_t>* sum, uint64_t amount) {
  if (amount != 0) sum->store(sum->load(std::memory_order_relaxed) + amount, std::memory_order_release);
}

}  // namespace

policies::FrameTotals LoopFrames::Sums::Read() const {
  // Acquire, each: it pairs with the stores and keeps the loads in this order.
  policies::FrameTotals totals;
  totals.frames = frames.load(std::memory_order_acquire);
  totals.dropped = dropped.load(std::memory_order_acquire);
  for (size_t i = 0; i < by_level.size(); ++i)
    totals.by_level[i] = by_level[i].load(std::memory_order_acquire);
  for (size_t i = 0; i < by_stage_ns.size(); ++i)
    totals.by_stage_ns[i] = by_stage_ns[i].load(std::memory_order_acquire);
  return totals;
}

void LoopFrames::Sums::Store(const policies::FrameTotals& totals) {
  frames.store(totals.frames, std::memory_order_release);
  dropped.store(totals.dropped, std::memory_order_release);
  for (size_t i = 0; i < by_level.size(); ++i)
    by_level[i].store(totals.by_level[i], std::memory_order_release);
  for (size_t i = 0; i < by_stage_ns.size(); ++i)
    by_stage_ns[i].store(totals.by_stage_ns[i], std::memory_order_release);
}

void LoopFrames::Begin(int64_t now_ns, int64_t vsync_ns, uint64_t scene) {
  // Relaxed loads, here and below: only this thread writes those words.
  uint64_t begun = begun_.load(std::memory_order_relaxed);
  if (begun != ended_.load(std::memory_order_relaxed)) {
    ++nested_;
    return;
  }
  if (vsync_ns <= 0 || vsync_ns > now_ns || now_ns - vsync_ns > kOldestVsyncNs) {
    vsync_ns = now_ns;
  } else {
    measured_interval_.Add(vsync_ns);
  }
  int64_t set_ns = set_interval_ns_.load(std::memory_order_relaxed);
  refresh_interval_ns_.store(set_ns != 0 ? set_ns : measured_interval_.interval_ns(),
                             std::memory_order_relaxed);
  frame_scene_ = scene;
  stage_begin_ns_ = now_ns;
  stage_ns_ = {};
  // Release, each: a reader that gets a new value here must also see that the last frame has ended.
  begin_ns_.store(now_ns, std::memory_order_release);
  vsync_ns_.store(vsync_ns, std::memory_order_release);
  stage_.store(FrameStage::kOther, std::memory_order_release);
  begun_.store(begun + 1, std::memory_order_release);
}

void LoopFrames::SetStage(int64_t now_ns, FrameStage stage) {
  if (nested_ != 0 || is_idle()) return;
  LeaveStage(now_ns);
  stage_.store(stage, std::memory_order_relaxed);  // goes with nothing else
}

void LoopFrames::End(int64_t now_ns) {
  if (nested_ != 0) {
    --nested_;
    return;
  }
  uint64_t ended = ended_.load(std::memory_order_relaxed);
  if (begun_.load(std::memory_order_relaxed) == ended) return;
  LeaveStage(now_ns);
  AddToTotals(now_ns - vsync_ns_.load(std::memory_order_relaxed));
  int64_t duration_ns = now_ns - begin_ns_.load(std::memory_order_relaxed);
  if (duration_ns > slow_ns_.load(std::memory_order_relaxed)) Keep(duration_ns);
  if (first_end_ns_.load(std::memory_order_relaxed) == 0)
    first_end_ns_.store(now_ns, std::memory_order_relaxed);
  ended_.store(ended + 1, std::memory_order_release);  // publishes what is kept
}

void LoopFrames::SetRefreshIntervalNs(int64_t interval_ns) {
  if (interval_ns != 0)
    interval_ns = std::clamp(interval_ns, RefreshInterval::kShortestNs, RefreshInterval::kLongestNs);
  set_interval_ns_.store(interval_ns, std::memory_order_relaxed);
}

LoopFrames::Frame LoopFrames::Read() const {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    Frame frame;
    // Acquire, each: it pairs with Begin's stores and keeps the loads in this order.
    frame.number = begun_.load(std::memory_order_acquire);
    frame.begin_ns = begin_ns_.load(std::memory_order_acquire);
    frame.vsync_ns = vsync_ns_.load(std::memory_order_acquire);
    if (begun_.load(std::memory_order_acquire) != frame.number) continue;
    if (IsStillIn(frame.number)) return frame;
    break;
  }
  return {0, 0, 0};
}

bool LoopFrames::ReadTotals(Totals* totals) const {
  // Acquire, each: it pairs with the stores of AddToTotals and keeps the loads in this order.
  uint64_t sequence = sequence_.load(std::memory_order_acquire);
  if (sequence % 2 != 0) return false;
  totals->all = sums_.Read();
  totals->scene = scene_.load(std::memory_order_acquire);
  totals->scene_changes = scene_changes_.load(std::memory_order_acquire);
  totals->before = sums_before_scene_.Read();
  return sequence_.load(std::memory_order_relaxed) == sequence;
}

int64_t LoopFrames::SlowDurationNs(uint64_t number) const {
  // As LoopProbe::SlowDurationTicks.
  if (slow_number_.load(std::memory_order_acquire) != number) return 0;
  int64_t duration_ns = slow_duration_ns_.load(std::memory_order_acquire);
  return slow_number_.load(std::memory_order_acquire) == number ? duration_ns : 0;
}

bool LoopFrames::ReadSlow(SlowFrame* frame) const {
  // Acquire, each: as SlowDurationNs.
  const uint64_t number = slow_number_.load(std::memory_order_acquire);
  if (number == 0 || IsStillIn(number)) return false;
  frame->duration_ns = slow_duration_ns_.load(std::memory_order_acquire);
  frame->begin_ns = slow_begin_ns_.load(std::memory_order_acquire);
  for (size_t i = 0; i < slow_stage_ns_.size(); ++i)
    frame->by_stage_ns[i] = slow_stage_ns_[i].load(std::memory_order_acquire);
  return slow_number_.load(std::memory_order_acquire) == number;
}

void LoopFrames::Reset() {
  nested_ = 0;
  ended_.store(begun_.load());
  measured_interval_ = {};
  set_interval_ns_.store(0);
  refresh_interval_ns_.store(RefreshInterval::kDefaultNs);
}

void LoopFrames::LeaveStage(int64_t now_ns) {
  auto stage = static_cast<size_t>(stage_.load(std::memory_order_relaxed));
  stage_ns_[stage] += static_cast<uint64_t>(std::max<int64_t>(now_ns - stage_begin_ns_, 0));
  stage_begin_ns_ = now_ns;
}

void LoopFrames::AddToTotals(int64_t late_ns) {
  uint64_t dropped = policies::DroppedFrames(late_ns, refresh_interval_ns_.load(std::memory_order_relaxed));
  auto level = static_cast<size_t>(policies::FrameLevelOf(dropped));
  uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  // Relaxed: the stores that follow release it, each, so that a reader of one of them sees that they change.
  sequence_.store(sequence + 1, std::memory_order_relaxed);
  if (frame_scene_ != scene_.load(std::memory_order_relaxed)) [[unlikely]] {
    sums_before_scene_.Store(sums_.Read());
    Add(&scene_changes_, 1);
    scene_.store(frame_scene_, std::memory_order_release);
  }
  Add(&sums_.frames, 1);
  Add(&sums_.dropped, dropped);
  Add(&sums_.by_level[level], 1);
  for (size_t i = 0; i < stage_ns_.size(); ++i) Add(&sums_.by_stage_ns[i], stage_ns_[i]);
  sequence_.store(sequence + 2, std::memory_order_release);
}

void LoopFrames::Keep(int64_t duration_ns) {
  // Release, each: see LoopProbe::Keep.
  slow_number_.store(0, std::memory_order_release);
  slow_duration_ns_.store(duration_ns, std::memory_order_release);
  slow_begin_ns_.store(begin_ns_.load(std::memory_order_relaxed), std::memory_order_release);
  for (size_t i = 0; i < stage_ns_.size(); ++i)
    slow_stage_ns_[i].store(stage_ns_[i], std::memory_order_release);
  slow_number_.store(begun_.load(std::memory_order_relaxed), std::memory_order_release);
}

}  // namespace lagwatch::watchdog
