// SPDX-License-Identifier: Apache-2.0
// The frames that a loop makes for a display: which one is under way, and sums over those that are done.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "policies/frame_levels.h"

namespace lagwatch::watchdog {

// Times are CLOCK_MONOTONIC, the displays' clock.
// Thread safety: Begin, SetStage and End from the loop's own thread only; SetRefreshIntervalNs from any; the
// rest from the watchdog thread only, unless it says otherwise.
// Invariants, as in LoopProbe: frames are numbered from 1; `begun` and `ended` differ, by one, while a frame
// is under way; a reader that finds the same `begun` before and after has the words of that frame. The sums
// are whole while their sequence is even and the same before and after.
class alignas(64) LoopFrames {
 public:
  // A frame begins, for the refresh at `vsync_ns`; 0 when that is not known: then the frame's own begin
  // stands for it, as it does for a time that is ahead of `now_ns` or too long ago. One inside another does
  // not count. Context: hot, as are the next two.
  // `scene` is a number for what the program is at.
  void Begin(int64_t now_ns, int64_t vsync_ns, uint64_t scene = 0);
  // Assigns the time until the next call to this stage; a frame begins in kOther.
  void SetStage(int64_t now_ns, policies::FrameStage stage);
  // Ends what Begin began; a stray end is ignored.
  void End(int64_t now_ns);

  // 0: measured from the refreshes' times. Brought into RefreshInterval's range. Wait-free.
  void SetRefreshIntervalNs(int64_t interval_ns);
  // The interval in force. Any thread.
  int64_t refresh_interval_ns() const { return refresh_interval_ns_.load(std::memory_order_relaxed); }

  struct Frame {
    uint64_t number;  // 0 when none is under way
    int64_t begin_ns;
    int64_t vsync_ns;
  };
  // Returns an idle frame if the loop is too busy to be read consistently: then it makes progress.
  Frame Read() const;
  bool IsStillIn(uint64_t number) const {
    return ended_.load(std::memory_order_acquire) < number;  // pairs with End's store
  }
  uint64_t begun() const { return begun_.load(std::memory_order_relaxed); }  // goes with nothing else
  // The sums of so many are written.
  uint64_t ended() const { return ended_.load(std::memory_order_acquire); }  // pairs with End's store
  bool is_idle() const { return ended_.load(std::memory_order_relaxed) == begun(); }
  policies::FrameStage stage() const { return stage_.load(std::memory_order_relaxed); }

  // Sums over all frames since the program began.
  struct Totals {
    policies::FrameTotals all;
    uint64_t scene = 0;            // of the last frame
    uint64_t scene_changes = 0;    // from one frame to the next
    policies::FrameTotals before;  // what `all` was at the last of them
  };
  // False when the loop's thread is just writing them.
  bool ReadTotals(Totals* totals) const;
  // A frame that takes longer is slow: its exact duration is kept.
  void SetSlowNs(int64_t slow_ns) { slow_ns_.store(slow_ns, std::memory_order_relaxed); }
  // 0 when that is not on record.
  int64_t SlowDurationNs(uint64_t number) const;
  // The last slow frame that is over.
  struct SlowFrame {
    int64_t begin_ns;
    int64_t duration_ns;
    std::array<uint64_t, policies::kFrameStages> by_stage_ns;
  };
  // False when there was none, or the loop's thread is just writing it.
  bool ReadSlow(SlowFrame* frame) const;
  // When the first frame was done; 0: none was. Any thread.
  int64_t first_end_ns() const { return first_end_ns_.load(std::memory_order_relaxed); }

  // No frame is under way, for the next loop that takes this place; sums and numbers go on. Not while the
  // loop's thread uses it.
  void Reset();

 private:
  static constexpr int64_t kOldestVsyncNs = 10'000'000'000;

  void LeaveStage(int64_t now_ns);
  // Words of sums, which only the loop's thread writes.
  struct Sums {
    std::atomic<uint64_t> frames{0};
    std::atomic<uint64_t> dropped{0};
    std::array<std::atomic<uint64_t>, policies::kFrameLevels> by_level{};
    std::array<std::atomic<uint64_t>, policies::kFrameStages> by_stage_ns{};

    policies::FrameTotals Read() const;
    void Store(const policies::FrameTotals& totals);
  };

  void AddToTotals(int64_t late_ns);
  void Keep(int64_t duration_ns);

  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> ended_{0};
  std::atomic<int64_t> begin_ns_{0};
  std::atomic<int64_t> vsync_ns_{0};
  std::atomic<policies::FrameStage> stage_{policies::FrameStage::kOther};
  // The loop's thread alone has these.
  uint64_t nested_ = 0;
  int64_t stage_begin_ns_ = 0;
  uint64_t frame_scene_ = 0;
  std::array<uint64_t, policies::kFrameStages> stage_ns_{};  // of the frame under way
  policies::RefreshInterval measured_interval_;

  std::atomic<int64_t> set_interval_ns_{0};
  std::atomic<int64_t> refresh_interval_ns_{policies::RefreshInterval::kDefaultNs};

  std::atomic<uint64_t> sequence_{0};  // of the sums; odd while they change
  Sums sums_;
  std::atomic<uint64_t> scene_{0};
  std::atomic<uint64_t> scene_changes_{0};
  Sums sums_before_scene_;

  std::atomic<int64_t> first_end_ns_{0};
  std::atomic<int64_t> slow_ns_{INT64_MAX};
  std::atomic<uint64_t> slow_number_{0};
  std::atomic<int64_t> slow_duration_ns_{0};
  std::atomic<int64_t> slow_begin_ns_{0};
  std::array<std::atomic<uint64_t>, policies::kFrameStages> slow_stage_ns_{};
};

}  // namespace lagwatch::watchdog
