// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/source_names.h"

#include <cstddef>

namespace lagwatch::stack::lua {
namespace {

std::string_view StablePath(std::string_view path) {
  for (std::string_view directory : {"/share/lua/5.", "/share/luajit-2."}) {
    const size_t at = path.rfind(directory);
    if (at == path.npos) continue;
    const size_t end = path.find('/', at + directory.size());
    if (end != path.npos) return path.substr(end + 1);
  }
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string_view FileNames::NameOf(std::string_view source, bool is_end_of_path) {
  constexpr size_t kMostLetters = 45;  // LUA_IDSIZE without what is around them
  if (source.starts_with('=') && !is_end_of_path) return source.substr(1);
  if (source.starts_with('@')) return StablePath(source.substr(1));
  if (is_end_of_path) return StablePath(source);
  std::string_view line = source.substr(0, source.find('\n'));
  const bool is_cut = line.size() < source.size() || line.size() > kMostLetters;
  line = line.substr(0, kMostLetters);
  size_t size = 0;
  for (std::string_view part : {std::string_view("[string \""), line, std::string_view(is_cut ? "..." : ""),
                                std::string_view("\"]")}) {
    part.copy(&text_[size], part.size());
    size += part.size();
  }
  return {text_.data(), size};
}

}  // namespace lagwatch::stack::lua
