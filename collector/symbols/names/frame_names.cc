// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/frame_names.h"

#include <cinttypes>
#include <cstdio>

#include "collector/symbols/names/function_name.h"
#include "collector/symbols/names/remembered.h"
#include "policies/cluster/cause_key.h"

namespace lagwatch::collector {

namespace {

// A script's function by its name "NAME (FILE)".
NamedFrame OfScript(const std::string& name, uint64_t line) {
  NamedFrame named{.function = name, .origin = NameOrigin::kScript};
  const size_t file = name.rfind(" (");
  if (file != std::string::npos && name.ends_with(')')) {
    named.file = name.substr(file + 2, name.size() - file - 3);
    named.line = line <= UINT32_MAX ? static_cast<uint32_t>(line) : 0;
  }
  return named;
}

}  // namespace

FrameNames::FrameNames(const report::Report& report) : report_(report) {
  for (const report::Symbol& symbol : report.symbols) {
    symbols_.emplace(ModuleOffset{symbol.module, symbol.function_offset}, &symbol.name);
  }
}

NamedFrame FrameNames::NameOf(const report::Frame& frame) const {
  const uint64_t offset = frame.symbol_offset();
  const auto symbol = symbols_.find({frame.module, offset});
  const bool is_named = symbol != symbols_.end() && !symbol->second->empty();
  const bool is_script =
      frame.module != report::kNoModule && policies::IsLanguageModule(report_.modules[frame.module].path);
  if (is_named && is_script) return OfScript(*symbol->second, frame.offset - offset);
  if (is_named)
    return {.function = Remembered<ReadableFunctionName>(*symbol->second), .origin = NameOrigin::kClient};
  const auto of_place = [](std::string text) {
    return NamedFrame{.function = std::move(text), .origin = NameOrigin::kPlace};
  };
  if (frame.module == report::kNoModule) return of_place(HexNumber(offset));
  const std::string& path = report_.modules[frame.module].path;
  if (path == policies::kGeneratedCodeModule || is_script) return of_place(path);
  return of_place(std::string(BaseName(path)) + "+" + HexNumber(offset));
}

std::string HexNumber(uint64_t number) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace lagwatch::collector
