// SPDX-License-Identifier: Apache-2.0
// The C ABI over watched loops.
#include <lagwatch/c.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/clock.h"
#include "policies/frame_levels.h"
#include "sdk/c_guarded.h"
#include "sdk/process_monitor.h"
#include "sdk/run/text_cell.h"
#include "watchdog/loops/loop_registry.h"

namespace {

using lagwatch::sdk::Guarded;
using lagwatch::sdk::ProcessMonitor;
using lagwatch::watchdog::WatchedLoop;

// A loop's handle points to its words.
using lagwatch::watchdog::LoopWords;
static_assert(std::is_standard_layout_v<WatchedLoop> && offsetof(WatchedLoop, probe) == 0);
static_assert(offsetof(LoopWords, begun) == offsetof(lw_loop, begun) &&
              offsetof(LoopWords, ended) == offsetof(lw_loop, ended) &&
              offsetof(LoopWords, begin_ticks) == offsetof(lw_loop, begin_ticks) &&
              offsetof(LoopWords, tag) == offsetof(lw_loop, tag) &&
              offsetof(LoopWords, nested) == offsetof(lw_loop, nested) &&
              offsetof(LoopWords, is_watchdog_asleep) == offsetof(lw_loop, is_watchdog_asleep));

WatchedLoop* ToLoop(lw_loop* loop) { return reinterpret_cast<WatchedLoop*>(loop); }

// Numbers from callers are cut.
int64_t ToSigned(uint64_t number) { return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX)); }

using lagwatch::policies::FrameStage;
static_assert(LW_STAGE_OTHER == static_cast<int>(FrameStage::kOther) &&
              LW_STAGE_INPUT == static_cast<int>(FrameStage::kInput) &&
              LW_STAGE_ANIMATION == static_cast<int>(FrameStage::kAnimation) &&
              LW_STAGE_LAYOUT == static_cast<int>(FrameStage::kLayout) &&
              LW_STAGE_DRAW == static_cast<int>(FrameStage::kDraw) &&
              LW_STAGE_SUBMIT == static_cast<int>(FrameStage::kSubmit) &&
              LW_STAGE_SUBMIT + 1 == lagwatch::policies::kFrameStages);

}  // namespace

extern "C" {

lw_loop* lw_watch_loop(const char* name) noexcept {
  return Guarded(static_cast<lw_loop*>(nullptr), [name] {
    return reinterpret_cast<lw_loop*>(ProcessMonitor::Instance().WatchLoop(name == nullptr ? "" : name));
  });
}

void lw_unwatch_loop(lw_loop* loop) noexcept {
  if (loop != nullptr) Guarded([loop] { ProcessMonitor::Instance().UnwatchLoop(ToLoop(loop)); });
}

lw_thresholds lw_set_thresholds(lw_loop* loop, uint32_t threshold_ms, uint32_t anr_threshold_ms) noexcept {
  using lagwatch::base::kNsPerMs;
  if (loop == nullptr) return {};
  lagwatch::watchdog::Thresholds in_force =
      ToLoop(loop)->limits.SetThresholds({threshold_ms * kNsPerMs, anr_threshold_ms * kNsPerMs});
  return {.threshold_ms = static_cast<uint32_t>(in_force.threshold_ns / kNsPerMs),
          .anr_threshold_ms = static_cast<uint32_t>(in_force.anr_threshold_ns / kNsPerMs)};
}

void lw_set_weight(lw_loop* loop, uint32_t weight) noexcept {
  if (loop != nullptr) ToLoop(loop)->limits.SetWeight(weight);
}

void lw_note_queued(lw_loop* loop) noexcept {
  if (loop == nullptr) return;
  ToLoop(loop)->tasks.NoteQueued();
  ToLoop(loop)->probe.WakeWatchdogIfAsleep();
}

void lw_note_run(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->tasks.NoteRun();
}

void lw_note_queue_wait(lw_loop* loop, uint64_t wait_ns) noexcept {
  if (loop != nullptr) ToLoop(loop)->probe.NoteQueueWait(ToSigned(wait_ns));
}

void lw_scope_begin(lw_loop* loop, const char* name, uint32_t deadline_ms) noexcept {
  using lagwatch::watchdog::Thresholds;
  int64_t deadline_ns = deadline_ms * lagwatch::base::kNsPerMs;
  if (loop == nullptr) return;
  ToLoop(loop)->scopes.Begin(name, std::clamp(deadline_ns, Thresholds::kShortestNs, Thresholds::kLongestNs));
  ToLoop(loop)->probe.WakeWatchdogIfAsleep();
}

void lw_scope_end(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->scopes.End();
}

void lw_idle_begin(lw_loop* loop) noexcept {
  if (loop == nullptr) return;
  ToLoop(loop)->idle_handler.Begin(nullptr);
  ToLoop(loop)->probe.WakeWatchdogIfAsleep();
}

void lw_idle_end(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->idle_handler.End();
}

void lw_input_received(lw_loop* loop) noexcept {
  if (loop == nullptr) return;
  ToLoop(loop)->inputs.NoteQueued();
  ToLoop(loop)->probe.WakeWatchdogIfAsleep();
}

void lw_input_finished(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->inputs.NoteRun();
}

void lw_set_refresh_interval(lw_loop* loop, uint64_t interval_ns) noexcept {
  if (loop != nullptr) ToLoop(loop)->frames.SetRefreshIntervalNs(ToSigned(interval_ns));
}

void lw_frame_begin(lw_loop* loop, uint64_t vsync_ns) noexcept {
  if (loop == nullptr) return;
  ToLoop(loop)->frames.Begin(lagwatch::base::SystemClock().MonoNs(), ToSigned(vsync_ns),
                             lagwatch::sdk::ProcessContext().scene.number());
  ToLoop(loop)->probe.WakeWatchdogIfAsleep();
}

void lw_frame_stage(lw_loop* loop, lw_stage stage) noexcept {
  if (loop == nullptr) return;
  bool is_known = static_cast<unsigned>(stage) < lagwatch::policies::kFrameStages;
  ToLoop(loop)->frames.SetStage(lagwatch::base::SystemClock().MonoNs(),
                                is_known ? static_cast<FrameStage>(stage) : FrameStage::kOther);
}

void lw_frame_end(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->frames.End(lagwatch::base::SystemClock().MonoNs());
}

void lw_dispatch_begin(lw_loop* loop, const char* tag) noexcept {
  if (loop != nullptr) ToLoop(loop)->probe.Begin(tag);
}

void lw_wake_watchdog(lw_loop* loop) noexcept { ToLoop(loop)->probe.WakeWatchdog(); }

void lw_dispatch_end(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->probe.End();
}

void lw_loop_wait_begin(lw_loop* loop) noexcept {
  if (loop != nullptr) ToLoop(loop)->probe.WaitBegin();
}

void lw_loop_wait_end(lw_loop* loop, const char* tag) noexcept {
  if (loop != nullptr) ToLoop(loop)->probe.WaitEnd(tag);
}

void lw_loop_turn(lw_loop* loop, const char* tag) noexcept {
  if (loop != nullptr) ToLoop(loop)->probe.Turn(tag);
}

}  // extern "C"
