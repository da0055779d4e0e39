// SPDX-License-Identifier: Apache-2.0
#include "trace/model/tag_frames.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_tag.h"

namespace lagwatch::trace {
namespace {

// Indices. A client chooses the numbers of modules and of tags: neither may be searched for each of the
// other.
using ModulesByName = std::map<std::string_view, uint32_t>;

ModulesByName ByFileName(const std::vector<Module>& modules) {
  ModulesByName by_name;
  for (const Module& module : modules) {
    const std::string_view path = module.path;
    by_name.emplace(path.substr(path.rfind('/') + 1), static_cast<uint32_t>(&module - modules.data()));
  }
  return by_name;
}

// The whole name comes before the names that begin with it.
ModulesByName::const_iterator Find(const ModulesByName& modules, const base::FunctionTag& function) {
  const auto found = modules.lower_bound(function.file_name);
  return found != modules.end() && function.IsIn(found->first, function.may_be_cut) ? found : modules.end();
}

}  // namespace

TagFrames::TagFrames(Trace* trace) : trace_(trace), first_(trace->frames.size()) {
  const ModulesByName modules = ByFileName(trace->modules);
  for (const Thread& thread : trace->threads) {
    for (const Dispatch& dispatch : thread.dispatches) {
      const auto function = base::ParseFunctionTag(dispatch.tag);
      if (!function || by_tag_.contains(dispatch.tag)) continue;
      const auto module = Find(modules, *function);
      if (module == modules.end()) continue;
      NamedFrame frame;
      frame.module = module->second;
      frame.offset = frame.function_offset = function->offset;
      by_tag_[dispatch.tag] = static_cast<uint32_t>(trace->frames.size());
      trace->frames.push_back(std::move(frame));
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
