// SPDX-License-Identifier: Apache-2.0
#include "policies/frame_levels.h"

namespace lagwatch::policies {

const char* FrameLevelName(FrameLevel level) {
  switch (level) {
    case FrameLevel::kBest:
      return "best";
    case FrameLevel::kNormal:
      return "normal";
    case FrameLevel::kMiddle:
      return "middle";
    case FrameLevel::kHigh:
      return "high";
    case FrameLevel::kFrozen:
      break;
  }
  return "frozen";
}

const char* FrameStageName(FrameStage stage) {
  switch (stage) {
    case FrameStage::kInput:
      return "input";
    case FrameStage::kAnimation:
      return "animation";
    case FrameStage::kLayout:
      return "layout";
    case FrameStage::kDraw:
      return "draw";
    case FrameStage::kSubmit:
      return "submit";
    case FrameStage::kOther:
      break;
  }
  return "other";
}

FrameTotals& FrameTotals::operator+=(const FrameTotals& other) {
  frames += other.frames;
  dropped += other.dropped;
  for (size_t i = 0; i < kFrameLevels; ++i) by_level[i] += other.by_level[i];
  for (size_t i = 0; i < kFrameStages; ++i) by_stage_ns[i] += other.by_stage_ns[i];
  return *this;
}

FrameTotals FrameTotals::Since(const FrameTotals& before) const {
  FrameTotals difference = *this;
  difference.frames -= before.frames;
  difference.dropped -= before.dropped;
  for (size_t i = 0; i < kFrameLevels; ++i) difference.by_level[i] -= before.by_level[i];
  for (size_t i = 0; i < kFrameStages; ++i) difference.by_stage_ns[i] -= before.by_stage_ns[i];
  return difference;
}

}  // namespace lagwatch::policies
