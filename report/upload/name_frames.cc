// SPDX-License-Identifier: Apache-2.0
#include "report/upload/name_frames.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "policies/cluster/cause_key.h"

namespace lagwatch::report {
namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

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

// A tag that is full, of a hang or of a slow dispatch, may have only the begin of a module's name; in a
// shorter one "editor" is not editor-plugin.so.
bool MayBeCut(std::string_view tag) {
  constexpr size_t kFullHangTag = 127;
  constexpr size_t kFullSlowTag = 31;
  return tag.size() == kFullHangTag || tag.size() == kFullSlowTag;
}

// The function that is the report's tag, if one is: "editor+0x1f".
std::optional<std::string> FunctionOfTag(const Report& report, FrameNamer* namer) {
  constexpr std::string_view kSign = "+0x";
  constexpr int kHexadecimal = 16;
  const std::string_view tag = report.tag;
  const size_t sign = tag.rfind(kSign);
  if (sign == 0 || sign == std::string_view::npos) return std::nullopt;
  uint64_t offset = 0;
  const char* end = tag.data() + tag.size();
  const auto parsed = std::from_chars(tag.data() + sign + kSign.size(), end, offset, kHexadecimal);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  const std::string_view name = tag.substr(0, sign);
  for (const bool is_cut : {false, true}) {
    if (is_cut && !MayBeCut(tag)) break;
    for (const Module& module : report.modules) {
      const std::string_view file = FileName(module.path);
      if (is_cut ? !file.starts_with(name) : file != name) continue;
      if (auto symbol = namer->NameOf(module.path, module.build_id, offset)) return ReadableName(*symbol);
    }
  }
  return std::nullopt;
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
  if (const auto function = FunctionOfTag(report, namer)) AppendTag(*function, encoded);
}

}  // namespace lagwatch::report
