// SPDX-License-Identifier: Apache-2.0
// Tags that are a function, which has no name yet (lw_function_tag() in lagwatch/c.h): reports and traces
// have its place in a module, "editor+0x1f". Pure.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lagwatch::base {

struct FunctionTag {
  std::string_view file_name;  // of the module, maybe only its begin
  uint64_t offset;
  bool may_be_cut;

  // Whether it is in the module `path`; with `is_cut`, also by the begin of the module's name.
  bool IsIn(std::string_view path, bool is_cut) const {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return is_cut ? file.starts_with(file_name) : file == file_name;
  }
  // Calls `visit` with each module that it may be in, the best first, until it returns true.
  template <typename Modules, typename Visit>
  void VisitModules(const Modules& modules, Visit visit) const {
    for (const bool is_cut : {false, true}) {
      if (is_cut && !may_be_cut) return;
      for (const auto& module : modules)
        if (IsIn(module.path, is_cut) && visit(module)) return;
    }
  }
};

// Borrows `tag`. A tag that is full, of a hang or of a past dispatch, may have only the begin of a module's
// name; in a shorter one "editor" is not editor-plugin.so.
inline std::optional<FunctionTag> ParseFunctionTag(std::string_view tag) {
  constexpr std::string_view kSign = "+0x";
  constexpr int kHexadecimal = 16;
  constexpr size_t kFullHangTagBytes = 127;
  constexpr size_t kFullPastTagBytes = 31;
  const size_t sign = tag.rfind(kSign);
  if (sign == 0 || sign == std::string_view::npos) return std::nullopt;
  uint64_t offset = 0;
  const char* end = tag.data() + tag.size();
  const auto parsed = std::from_chars(tag.data() + sign + kSign.size(), end, offset, kHexadecimal);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return FunctionTag{tag.substr(0, sign), offset,
                     tag.size() == kFullHangTagBytes || tag.size() == kFullPastTagBytes};
}

}  // namespace lagwatch::base
