// SPDX-License-Identifier: Apache-2.0
#include "trace/export/timeline.h"

#include "trace/export/text.h"
#include "trace/model/functions.h"
#include "trace/model/names.h"

namespace lagwatch::trace {

std::vector<std::string> FunctionNames(const Trace& trace, const std::vector<uint32_t>& functions) {
  std::vector<std::string> names;
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i] == names.size()) names.push_back(OneLine(DisplayName(trace, trace.frames[i])));
  return names;
}

Timeline MakeTimeline(const Trace& trace, const SliceOptions& options) {
  Timeline timeline{.trace = trace,
                    .functions = FunctionNumbers(trace),
                    .frames = {},
                    .names = {},
                    .tracks = BuildTracks(trace, options)};
  timeline.names = FunctionNames(trace, timeline.functions);
  for (uint32_t i = 0; i < timeline.functions.size(); ++i)
    if (timeline.functions[i] == timeline.frames.size()) timeline.frames.push_back(i);
  return timeline;
}

std::string ThreadName(const Thread& thread) {
  return thread.name.empty() ? "thread " + std::to_string(thread.tid) : OneLine(thread.name);
}

bool HasTwoTracks(const Timeline& timeline, const Track& track) {
  const size_t index = static_cast<size_t>(&track - timeline.tracks.data());
  const size_t other = track.is_instrumented ? index - 1 : index + 1;
  return other < timeline.tracks.size() && timeline.tracks[other].thread == track.thread;
}

std::string TrackName(const Timeline& timeline, const Track& track) {
  const std::string name = ThreadName(timeline.trace.threads[track.thread]);
  return !track.is_instrumented && HasTwoTracks(timeline, track) ? name + " (samples)" : name;
}

}  // namespace lagwatch::trace
