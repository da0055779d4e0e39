// SPDX-License-Identifier: Apache-2.0
// Frames and stacks of many reports, each once. Reports bring their own names, so a function is identified by
// its name. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/cluster/named_stacks.h"
#include "collector/query/json/json_text.h"
#include "collector/symbols/names/symbol_namer.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class FrameTable {
 public:
  using Stack = std::vector<uint32_t>;  // numbers of frames, innermost first

  // Inlined functions are frames of their own, as a report's JSON has them.
  Stack Add(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names,
            const report::Stack& stack);
  uint32_t NumberOf(Stack stack);

  // By their numbers: [{"function", "module", "file", "line", "own"}] and [[numbers of frames]].
  const Json& frames() const { return frames_; }
  Json StacksJson() const;

  // The approximate size of its contents.
  size_t size_bytes() const { return size_bytes_; }

 private:
  uint32_t NumberOf(const NamedFrame& named, const std::string& module, bool is_own);

  Json frames_ = Json::array();
  std::unordered_map<std::string, uint32_t> numbers_;  // of frames, by all that is known of each
  std::map<Stack, uint32_t> stacks_;
  size_t size_bytes_ = 0;
};

}  // namespace lagwatch::collector
