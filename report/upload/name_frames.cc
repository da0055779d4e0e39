// SPDX-License-Identifier: Apache-2.0
#include "report/upload/name_frames.h"

#include <set>
#include <utility>

#include "policies/cluster/cause_key.h"

namespace lagwatch::report {

void NameFrames(const Report& report, FrameNamer* namer, std::string* encoded) {
  std::set<std::pair<uint32_t, uint64_t>> settled;
  for (const Symbol& symbol : report.symbols) settled.emplace(symbol.module, symbol.function_offset);
  for (const Stack& stack : report.stacks) {
    for (const Frame& frame : stack.frames) {
      if (frame.module == kNoModule || !settled.emplace(frame.module, frame.symbol_offset()).second) continue;
      const Module& module = report.modules[frame.module];
      if (module.path == policies::kGeneratedCodeModule) continue;
      if (auto name = namer->NameOf(module.path, module.build_id, frame.symbol_offset())) {
        AppendSymbol({frame.module, frame.symbol_offset(), *std::move(name)}, encoded);
      }
    }
  }
}

}  // namespace lagwatch::report
