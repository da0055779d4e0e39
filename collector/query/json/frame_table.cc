// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/frame_table.h"

#include <utility>

#include "base/process/own_names.h"

namespace lagwatch::collector {

FrameTable::Stack FrameTable::Add(const report::Report& report, const SymbolNamer& namer,
                                  const report::Stack& stack) {
  static const std::string kUnknown;
  Stack numbers;
  for (const report::Frame& frame : stack.frames) {
    const std::string& module =
        frame.module == report::kNoModule ? kUnknown : report.modules[frame.module].path;
    const std::vector<SourceFrame>& sources = namer.SourcesOf(frame);
    const std::vector<FrameName> names = namer.NamesOf(frame);
    for (size_t i = 0; i < names.size(); ++i) {
      if (base::IsOwnFunctionName(names[i].text)) continue;
      numbers.push_back(NumberOf(names[i].text, module, i < sources.size() ? &sources[i] : nullptr));
    }
  }
  return numbers;
}

uint32_t FrameTable::NumberOf(const std::string& function, const std::string& module,
                              const SourceFrame* source) {
  std::string known = function + '\0' + module;
  if (source != nullptr) known += '\0' + source->file + '\0' + std::to_string(source->line);
  const auto [number, is_new] = numbers_.try_emplace(std::move(known), static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    size_bytes_ += 2 * number->first.size();
    const bool has_file = source != nullptr && !source->file.empty();
    const bool has_line = source != nullptr && source->line != 0;
    frames_.push_back({{"function", function},
                       {"module", module},
                       {"file", has_file ? Json(source->file) : Json()},
                       {"line", has_line ? Json(source->line) : Json()}});
  }
  return number->second;
}

uint32_t FrameTable::NumberOf(Stack stack) {
  const auto [number, is_new] = stacks_.try_emplace(std::move(stack), static_cast<uint32_t>(stacks_.size()));
  if (is_new) size_bytes_ += number->first.size() * sizeof(uint32_t);
  return number->second;
}

Json FrameTable::StacksJson() const {
  Json stacks = Json::array();
  for (size_t i = 0; i < stacks_.size(); ++i) stacks.push_back(Json());
  for (const auto& [stack, number] : stacks_) stacks[number] = stack;
  return stacks;
}

}  // namespace lagwatch::collector
