// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/frame_table.h"

#include <utility>

#include "base/process/own_names.h"

namespace lagwatch::collector {

FrameTable::Stack FrameTable::Add(const report::Report& report, const SymbolNamer& namer,
                                  const NamedStacks& names, const report::Stack& stack) {
  static const std::string kUnknown;
  Stack numbers;
  for (const report::Frame& frame : stack.frames) {
    const std::string& module =
        frame.module == report::kNoModule ? kUnknown : report.modules[frame.module].path;
    const auto described = names.DescribeFrame(frame);
    size_t shown = 0;
    for (const NamedFrame& named : namer.NamesOf(frame)) {
      if (base::IsOwnFunctionName(named.function)) continue;
      numbers.push_back(NumberOf(named, module, shown < described.size() && described[shown].is_own));
      ++shown;
    }
  }
  return numbers;
}

uint32_t FrameTable::NumberOf(const NamedFrame& named, const std::string& module, bool is_own) {
  std::string known = named.function + '\0' + module;
  if (named.has_place()) known += '\0' + named.file + '\0' + std::to_string(named.line);
  const auto [number, is_new] = numbers_.try_emplace(std::move(known), static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    size_bytes_ += 2 * number->first.size();
    frames_.push_back({{"function", named.function},
                       {"module", module},
                       {"file", named.file.empty() ? Json() : Json(named.file)},
                       {"line", named.line == 0 ? Json() : Json(named.line)},
                       {"own", is_own}});
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
