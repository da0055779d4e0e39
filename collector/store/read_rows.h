// SPDX-License-Identifier: Apache-2.0
// Reads the rows that both stores have alike: the numbers of frames, and the sums of causes. Context:
// background; pure.
#pragma once

#include <array>
#include <cstdint>

#include "collector/cluster/cause_sums.h"
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

// Reads the columns of sums, from `first_column` on: reports, hangs, hang_ns, weighted_hangs,
// weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms and the sketches. Throws what the row throws.
template <typename Row, typename Column>
CauseSums ReadSums(const Row& row, Column first_column) {
  CauseSums sums;
  sums.reports = row.Int(first_column);
  sums.hangs = row.Int(first_column + 1);
  sums.hang_ns = row.Real(first_column + 2);
  sums.weighted_hangs = row.Real(first_column + 3);
  sums.weighted_hang_ns = row.Real(first_column + 4);
  sums.longest_ns = row.Int(first_column + 5);
  sums.first_seen_ms = row.Int(first_column + 6);
  sums.last_seen_ms = row.Int(first_column + 7);
  DecodeSketches(row.Bytes(first_column + 8), &sums);
  return sums;
}

}  // namespace lagwatch::collector
