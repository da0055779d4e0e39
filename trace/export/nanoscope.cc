// SPDX-License-Identifier: Apache-2.0
#include "trace/export/export.h"
#include "trace/export/timeline.h"

namespace lagwatch::trace {
namespace {

const Track* ChooseTrack(const Timeline& timeline) {
  const Track* chosen = nullptr;
  const auto is_main = [&](const Track& track) {
    return timeline.trace.threads[track.thread].tid == timeline.trace.pid;
  };
  for (const Track& track : timeline.tracks) {
    if (track.slices.empty()) continue;
    // The instrumented track of a thread is behind the sampled one.
    if (chosen == nullptr || track.thread == chosen->thread || is_main(track)) chosen = &track;
  }
  return chosen;
}

}  // namespace

base::Result<std::string> NanoscopeText(const Trace& trace, const SliceOptions& options) {
  const Timeline timeline = MakeTimeline(trace, options);
  const Track* track = ChooseTrack(timeline);
  if (track == nullptr)
    return base::Status(base::StatusCode::kInvalid, "the trace holds no stack and no call");
  std::string text;
  // "+": the rest is the name, whatever it contains.
  WalkTrack(
      *track,
      [&](uint32_t index) {
        const Slice& slice = track->slices[index];
        AppendNumber(slice.begin_ns, &text);
        text.append(":+").append(timeline.NameOf(slice)).append("\n");
      },
      [&](uint32_t index) {
        AppendNumber(track->slices[index].end_ns, &text);
        text += ":POP\n";
      });
  return text;
}

}  // namespace lagwatch::trace
