// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/trace_namer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/clock.h"
#include "collector/symbols/names/function_name.h"
#include "collector/symbols/names/remembered.h"
#include "trace/model/tag_frames.h"

namespace lagwatch::collector {
namespace {

// Indices of frames without a name, by module.
std::map<uint32_t, std::vector<uint32_t>> FramesToName(const trace::Trace& trace) {
  std::map<uint32_t, std::vector<uint32_t>> frames;
  for (uint32_t i = 0; i < trace.frames.size(); ++i) {
    const trace::NamedFrame& frame = trace.frames[i];
    if (frame.name.empty() && frame.module != trace::kNoIndex) frames[frame.module].push_back(i);
  }
  return frames;
}

void NameBy(const std::vector<NamedFrame>& sources, trace::NamedFrame* frame) {
  if (sources.empty() || sources.back().function.empty()) return;
  frame->name = Remembered<ReadableFunctionName>(sources.back().function);
  frame->file = sources.back().file;
  frame->line = sources.back().line;
}

// False when it may be named later.
bool NameModule(Symbolizer* symbolizer, const std::vector<uint32_t>& unnamed, trace::Trace* trace) {
  const trace::Module& module = trace->modules[trace->frames[unnamed.front()].module];
  if (module.build_id.empty()) return true;
  std::vector<CodePlace> places;
  for (const uint32_t i : unnamed) places.push_back(trace->frames[i].offset);
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  symbolizer->NoteModule(module.build_id, module.path);
  const auto known = symbolizer->Symbolize(module.build_id, places);
  if (!known.ok()) return known.status().code() != base::StatusCode::kUnavailable;
  for (const uint32_t i : unnamed) {
    const auto at = std::ranges::lower_bound(places, CodePlace(trace->frames[i].offset)) - places.begin();
    NameBy((*known)[static_cast<size_t>(at)], &trace->frames[i]);
  }
  return true;
}

}  // namespace

bool NameFrames(Symbolizer* symbolizer, std::chrono::nanoseconds most, trace::Trace* trace) {
  for (trace::NamedFrame& frame : trace->frames) {
    if (!frame.name.empty()) frame.name = Remembered<ReadableFunctionName>(frame.name);
  }
  if (symbolizer == nullptr) return true;
  trace::TagFrames tags(trace);
  bool is_complete = true;
  const int64_t end_ns = base::SystemClock().MonoNs() + most.count();
  for (const auto& [module, unnamed] : FramesToName(*trace)) {
    if (base::SystemClock().MonoNs() >= end_ns) {
      is_complete = false;
      break;
    }
    is_complete &= NameModule(symbolizer, unnamed, trace);
  }
  tags.Apply();
  return is_complete;
}

}  // namespace lagwatch::collector
