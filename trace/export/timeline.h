// SPDX-License-Identifier: Apache-2.0
// Shared by the exporters of timelines: a trace's tracks with their displayed names. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/model/slices.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

struct Timeline {
  const Trace& trace;               // borrowed
  std::vector<uint32_t> functions;  // by frame
  std::vector<uint32_t> frames;     // by function, the first one
  std::vector<std::string> names;   // by function; UTF-8, in one line
  std::vector<Track> tracks;

  const std::string& NameOf(const Slice& slice) const { return names[functions[slice.frame]]; }
};

Timeline MakeTimeline(const Trace& trace, const SliceOptions& options);

// The names of trace.frames by function, as FunctionNumbers() counts them.
std::vector<std::string> FunctionNames(const Trace& trace, const std::vector<uint32_t>& functions);

// "render", or "thread 71" when it has no name; UTF-8, in one line.
std::string ThreadName(const Thread& thread);

// Whether the thread was both sampled and instrumented: its name alone does not distinguish its tracks.
bool HasTwoTracks(const Timeline& timeline, const Track& track);

// "render", or "render (samples)" beside its instrumented calls.
std::string TrackName(const Timeline& timeline, const Track& track);

}  // namespace lagwatch::trace
