// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/frame_names.h"

#include <cinttypes>
#include <cstdio>

#include "collector/symbols/function_name.h"
#include "collector/symbols/remembered.h"

namespace lagwatch::collector {

FrameNames::FrameNames(const report::Report& report) : report_(report) {
  for (const report::Symbol& symbol : report.symbols) {
    symbols_.emplace(Place{symbol.module, symbol.function_offset}, &symbol.name);
  }
}

const FrameName& FrameNames::NameOf(const report::Frame& frame) {
  Place place{frame.module, frame.symbol_offset()};
  auto known = names_.find(place);
  if (known == names_.end()) known = names_.emplace(place, CreateName(place)).first;
  return known->second;
}

FrameName FrameNames::CreateName(const Place& place) const {
  auto symbol = symbols_.find(place);
  if (symbol != symbols_.end() && !symbol->second->empty())
    return {Remembered<ReadableFunctionName>(*symbol->second), true};
  const auto& [module, offset] = place;
  if (module == 0) return {HexNumber(offset), false};
  return {std::string(BaseName(report_.modules[module - 1].path)) + "+" + HexNumber(offset), false};
}

std::string HexNumber(uint64_t number) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace lagwatch::collector
