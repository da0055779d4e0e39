// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/name_frames.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "collector/symbols/names/function_name.h"
#include "collector/symbols/names/trace_namer.h"
#include "trace/instrument/rules/function_names.h"
#include "trace/model/functions.h"
#include "trace/model/tag_frames.h"

namespace lagwatch::tools {

base::Result<std::unique_ptr<FrameNamer>> FrameNamer::Create(bool asks_debuginfod) {
  auto symbolizer = LAGWATCH_TRY(LocalSymbolizer::Create({.asks_debuginfod = asks_debuginfod}));
  return std::unique_ptr<FrameNamer>(new FrameNamer(std::move(symbolizer)));
}

void FrameNamer::Name(trace::Trace* trace, const std::function<void(size_t, size_t)>& progress) {
  if (progress) progress(0, trace->frames.size());
  collector::NameFrames(symbolizer_.get(), std::chrono::hours(1), trace);
  trace::TagFrames tags(trace);
  // One module after the other: a module's table is large, and not all of them are kept.
  std::vector<uint32_t> order(trace->frames.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return trace->frames[i].module; });
  size_t done = 0;
  for (uint32_t i : order) {
    if (progress) progress(++done, order.size());
    trace::NamedFrame& frame = trace->frames[i];
    if (frame.module >= trace->modules.size()) continue;
    const bool has_all = !frame.name.empty() && (frame.id != 0 || frame.function_offset == 0);
    if (has_all) continue;
    const Known& known =
        Find(trace->modules[frame.module], frame.function_offset != 0 ? frame.function_offset : frame.offset);
    if (frame.id == 0) frame.id = known.id;
    if (frame.name.empty()) frame.name = known.name;
  }
  tags.Apply();
}

const FrameNamer::Known& FrameNamer::Find(const trace::Module& module, uint64_t offset) {
  const auto [place, is_new] = known_.try_emplace({module.path, module.build_id, offset});
  if (is_new) {
    if (auto name = symbols_.NameOf(module.path, module.build_id, offset))
      place->second = {collector::ReadableFunctionName(*name),
                       trace::StableFunctionId(module.path, trace::FunctionNames::Of(*name).whole)};
  }
  return place->second;
}

}  // namespace lagwatch::tools
