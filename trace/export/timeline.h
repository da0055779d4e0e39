// SPDX-License-Identifier: Apache-2.0
// Shared by the exporters: a trace's tracks with their displayed names, and text as formats can hold it:
// names come from programs, so they may hold anything. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// Valid UTF-8 without control characters: invalid bytes become U+FFFD, control characters spaces.
std::string OneLine(std::string_view text);

// Appends `text` as a string of JSON, with its quotes.
void AppendJson(std::string_view text, std::string* json);

void AppendNumber(int64_t number, std::string* text);
// `ns` in microseconds, exactly: "12.034".
void AppendUs(int64_t ns, std::string* text);
// "0x7f0010"
std::string Hex(uint64_t number);

}  // namespace lagwatch::trace
