// SPDX-License-Identifier: Apache-2.0
// The functions on a thread's stack over time, for timelines. Sampled stacks become slices by their common
// parts with neighbours; instrumented calls are slices already. Nesting is strict on every track. Context:
// background. Design: docs/design/trace_slices.md
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

struct Slice {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t parent = kNoIndex;  // index into the track's slices
  uint32_t depth = 0;          // 0: has no parent
  uint32_t frame = 0;          // index into Trace::frames, of the first look where there were several
  uint64_t count = 0;          // looks that saw it; 1 for a call
  int64_t gap_ns = 0;          // the part of its time that lies more than a sample interval after
                               // the last look
  uint32_t dispatch = 0;
  CallKind call = CallKind::kNone;  // and the object: of the call that the slice itself is
  uint64_t object = 0;
  bool is_estimated = false;   // the times are those of looks at the thread, not of the call
  bool is_unfinished = false;  // a call whose end was not recorded: ends where its caller or the trace did
  std::optional<Totals> used;  // while it lasted, as far as looks with totals lie in it
};

struct Track {
  uint32_t thread = 0;            // index into Trace::threads
  bool is_instrumented = false;   // else sampled
  std::vector<Slice> slices;      // parents before children, ascending by begin_ns
  uint64_t orphan_end_count = 0;  // ends of calls whose begin was forgotten; they have no slice
};

// The tracks of all threads: for each the sampled one, then the instrumented one, without empty ones.
std::vector<Track> BuildTracks(const Trace& trace, const SliceOptions& options = {});

// `functions` is FunctionNumbers(trace).
Track BuildSampledTrack(const Trace& trace, uint32_t thread, const std::vector<uint32_t>& functions,
                        const SliceOptions& options = {});
Track BuildInstrumentedTrack(const Trace& trace, uint32_t thread, const std::vector<uint32_t>& functions);

// Calls enter(slice index) and leave(slice index), in the order of time, properly nested.
template <typename Enter, typename Leave>
void WalkTrack(const Track& track, Enter enter, Leave leave) {
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i <= track.slices.size(); ++i) {
    const size_t depth = i < track.slices.size() ? track.slices[i].depth : 0;
    for (; open.size() > depth; open.pop_back()) leave(open.back());
    if (i == track.slices.size()) return;
    enter(i);
    open.push_back(i);
  }
}

}  // namespace lagwatch::trace
