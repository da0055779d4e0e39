// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/splice.h"

#include <algorithm>
#include <array>

namespace lagwatch::stack::v8 {
namespace {

constexpr uint32_t kMostPassed = 8;  // of V8's functions between a caller and its run

// The beginning of V8's functions that lead from a run, which begins at `first`, to the C++ function that it
// called.
uint32_t BeginOfCallback(const V8Code& place, const Stack& stack, uint32_t first) {
  // They are in one file of V8's source.
  constexpr uint64_t kFileBytes = 8 << 10;
  uint32_t begin = first;
  const auto leads_out = [&](const Frame& frame) {
    return frame.module == place.module && frame.function_offset + kFileBytes > place.callback &&
           frame.function_offset < place.callback + kFileBytes;
  };
  while (place.callback != 0 && begin != 0 && leads_out(stack.frames[begin - 1])) --begin;
  // Without a function that they lead to, one of them is what the thread is in.
  return begin == 0 ? first : begin;
}

// The end of V8's functions that led into a run, which ends at `last`.
uint32_t EndOfCall(const V8Code& place, const Stack& stack, uint32_t last) {
  const uint32_t most = std::min(stack.frame_count, last + 1 + kMostPassed);
  for (uint32_t i = last + 1; i < most && stack.frames[i].module == place.module; ++i) {
    const uint64_t function = stack.frames[i].function_offset;
    if (function >= place.api_begin && function < place.api_end) return i + 1;
  }
  return last + 1;
}

}  // namespace

void Splice(const V8Code& place, std::span<const Run> runs, const ScriptFrames& frames, Stack* stack) {
  if (runs.empty()) return;
  std::array<Frame, kMaxFrames> written;
  uint32_t count = 0;
  bool is_cut = frames.is_cut;
  const auto add = [&](const Frame& frame) {
    is_cut = is_cut || count == written.size();
    if (count < written.size()) written[count++] = frame;
  };
  uint32_t next = 0;  // of the native frames
  for (const Run& run : runs) {
    const uint32_t begin = std::max(next, BeginOfCallback(place, *stack, run.first));
    for (; next < begin; ++next) add(stack->frames[next]);
    for (size_t i = run.scripts_begin; i < run.scripts_end; ++i) {
      const ScriptFrame& frame = frames.frames[i];
      add({place.language, frame.function + frame.line, frame.function});
    }
    next = std::max(next, EndOfCall(place, *stack, run.last));
  }
  for (; next < stack->frame_count; ++next) add(stack->frames[next]);
  std::copy_n(written.begin(), count, stack->frames);
  stack->frame_count = count;
  if (is_cut) stack->completeness = Completeness::kCut;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
}

}  // namespace lagwatch::stack::v8
