// SPDX-License-Identifier: Apache-2.0
// The numbers of frames, by the columns that both stores have for them. Context: background; pure.
#pragma once

#include <array>
#include <cstdint>

#include "collector/store/records.h"
#include "policies/frame_levels.h"

namespace lagwatch::collector {

// Each level's frames follow the dropped ones, then each stage's time.
inline constexpr std::array kFrameColumns = {"frames",    "dropped", "best",     "normal",   "middle",
                                             "high",      "frozen",  "other_ns", "input_ns", "animation_ns",
                                             "layout_ns", "draw_ns", "submit_ns"};
static_assert(kFrameColumns.size() == 2 + policies::kFrameLevels + policies::kFrameStages);

// Calls `visit` for the number of each column, in order.
template <typename Totals, typename Visit>
void ForEachFrameNumber(Totals& totals, Visit visit) {
  visit(totals.frames);
  visit(totals.dropped);
  for (auto& frames : totals.by_level) visit(frames);
  for (auto& stage_ns : totals.by_stage_ns) visit(stage_ns);
}

// Reads app, version, loop, scene, slices, users and the time last seen; the columns of frames begin at 8,
// and `read` reads one. `refresh_interval_ns` is the caller's.
template <typename Row, typename Read>
FrameSummary ReadFrameSummary(const Row& row, int64_t refresh_interval_ns, Read read) {
  FrameSummary summary{.app = row.Text(0),
                       .version = row.Text(1),
                       .loop = row.Text(2),
                       .scene = row.Text(3),
                       .slices = row.Int(4),
                       .users = row.Int(5),
                       .last_seen_ms = row.Int(6),
                       .refresh_interval_ns = refresh_interval_ns,
                       .frames = {}};
  int column = 8;
  ForEachFrameNumber(summary.frames,
                     [&](uint64_t& number) { number = static_cast<uint64_t>(read(column++)); });
  return summary;
}

}  // namespace lagwatch::collector
