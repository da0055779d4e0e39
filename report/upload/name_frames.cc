// SPDX-License-Identifier: Apache-2.0
#include "report/upload/name_frames.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "base/function_tag.h"
#include "policies/cluster/cause_key.h"

namespace lagwatch::report {
namespace {

// The name without the parameters of a function of C++.
std::string ReadableName(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (demangled == nullptr) return symbol;
  std::string name = demangled.get();
  // The last parentheses, from their end: types of parameters may have some, too.
  size_t end = name.rfind(')');
  for (int open = 0; end != std::string::npos && end != 0; --end) {
    if (name[end] == ')') ++open;
    if (name[end] == '(' && --open == 0) break;
  }
  return end == std::string::npos || end == 0 ? name : name.substr(0, end);
}

// The function that the tag is, if it is one of the report's modules: "editor+0x1f".
std::optional<std::string> FunctionOfTag(std::string_view tag, const Report& report, FrameNamer* namer) {
  std::optional<std::string> name;
  const auto function = base::ParseFunctionTag(tag);
  if (!function) return name;
  function->VisitModules(report.modules, [&](const Module& module) {
    const auto symbol = namer->NameOf(module.path, module.build_id, function->offset);
    if (symbol) name = ReadableName(*symbol);
    return symbol.has_value();
  });
  return name;
}

}  // namespace

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
  const auto function_of = [&](std::string_view tag) { return FunctionOfTag(tag, report, namer); };
  if (const auto function = function_of(report.tag)) AppendTag(*function, encoded);
  ReplaceHistoryTags(function_of, encoded);
}

}  // namespace lagwatch::report
