// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/symbol_namer.h"

#include <algorithm>

#include "collector/symbols/names/function_name.h"
#include "collector/symbols/names/remembered.h"

namespace lagwatch::collector {

SymbolNamer::SymbolNamer(const report::Report& report, Symbolizer* symbolizer)
    : report_(report), names_(report) {
  if (symbolizer == nullptr) return;
  std::map<uint32_t, std::vector<uint64_t>> offsets_of_module;
  for (const report::Stack& stack : report.stacks) {
    for (const report::Frame& frame : stack.frames) {
      if (frame.module != report::kNoModule) offsets_of_module[frame.module].push_back(frame.offset);
    }
  }
  for (auto& [module, offsets] : offsets_of_module) {
    const std::string& build_id = report.modules[module].build_id;
    if (build_id.empty()) continue;
    std::ranges::sort(offsets);
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    auto frames = symbolizer->Symbolize(build_id, offsets);
    is_unavailable_ |= frames.status().code() == base::StatusCode::kUnavailable;
    if (!frames.ok()) continue;
    for (size_t i = 0; i < offsets.size(); ++i) {
      std::erase_if((*frames)[i], [](const NamedFrame& source) { return source.function.empty(); });
      if (!(*frames)[i].empty()) sources_[{module, offsets[i]}] = std::move((*frames)[i]);
    }
  }
}

std::vector<NamedFrame> SymbolNamer::NamesOf(const report::Frame& frame) const {
  const auto known = sources_.find({frame.module, frame.offset});
  if (known == sources_.end()) return {names_.NameOf(frame)};
  std::vector<NamedFrame> names = known->second;
  for (NamedFrame& name : names) name.function = Remembered<ReadableFunctionName>(name.function);
  return names;
}

}  // namespace lagwatch::collector
