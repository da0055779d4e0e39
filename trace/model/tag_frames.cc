// SPDX-License-Identifier: Apache-2.0
#include "trace/model/tag_frames.h"

#include <cstdint>

#include "base/function_tag.h"

namespace lagwatch::trace {

TagFrames::TagFrames(Trace* trace) : trace_(trace), first_(trace->frames.size()) {
  for (const Thread& thread : trace->threads) {
    for (const Dispatch& dispatch : thread.dispatches) {
      const auto function = base::ParseFunctionTag(dispatch.tag);
      if (!function || by_tag_.contains(dispatch.tag)) continue;
      function->VisitModules(trace->modules, [&](const Module& module) {
        NamedFrame frame;
        frame.module = static_cast<uint32_t>(&module - trace->modules.data());
        frame.offset = frame.function_offset = function->offset;
        by_tag_[dispatch.tag] = static_cast<uint32_t>(trace->frames.size());
        trace->frames.push_back(std::move(frame));
        return true;
      });
    }
  }
}

void TagFrames::Apply() {
  if (by_tag_.empty()) return;
  for (Thread& thread : trace_->threads) {
    for (Dispatch& dispatch : thread.dispatches) {
      const auto found = by_tag_.find(dispatch.tag);
      if (found != by_tag_.end() && !trace_->frames[found->second].name.empty())
        dispatch.tag = trace_->frames[found->second].name;
    }
  }
  trace_->frames.resize(first_);
}

}  // namespace lagwatch::trace
