// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/mapping/mapping_id.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kAppPrefix = "java";
constexpr std::string_view kMapIdPrefix = "r8id";
constexpr size_t kIdBytes = 12;
constexpr std::string_view kMapIdFile = "r8-map-id-";
// R8 and ProGuard give names of one or two letters first.
constexpr size_t kShortName = 2;

std::string IdOf(std::string_view prefix, uint64_t hash) {
  std::string id(prefix);
  for (int shift = 56; shift >= 0; shift -= 8) id += static_cast<char>(hash >> shift & 0xff);
  return id;
}

struct JavaName {
  std::string_view function;
  std::string_view file;
};

JavaName Split(std::string_view name) {
  const size_t file = name.rfind(" (");
  if (file == name.npos || !name.ends_with(')')) return {name, {}};
  return {name.substr(0, file), name.substr(file + 2, name.size() - file - 3)};
}

bool LooksRenamed(const JavaName& name) {
  if (!IsSourceFileName(name.file)) return true;
  const std::string_view path = name.function.substr(0, name.function.find('('));
  const size_t method = path.rfind('.');
  if (method == path.npos) return false;
  const size_t type = path.substr(0, method).rfind('.');
  const size_t type_begin = type == path.npos ? 0 : type + 1;
  return path.size() - method - 1 <= kShortName || method - type_begin <= kShortName;
}

bool HasJava(const report::Report& report) {
  return std::ranges::any_of(report.modules, [](const auto& module) { return module.path == kJavaModule; });
}

}  // namespace

std::string MappingIdOfApp(std::string_view app, std::string_view app_version) {
  return IdOf(
      kAppPrefix,
      base::HashBytes(app_version, base::HashBytes(app, base::HashWord(app.size(), base::kFnvOffsetBasis))));
}

std::string MappingIdOfMapId(std::string_view map_id) { return IdOf(kMapIdPrefix, base::HashBytes(map_id)); }

bool IsMappingId(std::string_view build_id) {
  return build_id.size() == kIdBytes && (build_id.starts_with(kAppPrefix) || IsMappingIdOfMapId(build_id));
}

bool IsMappingIdOfMapId(std::string_view build_id) {
  return build_id.size() == kIdBytes && build_id.starts_with(kMapIdPrefix);
}

std::vector<std::string> MappingIdsOf(const report::Report& report) {
  if (!HasJava(report)) return {};
  // Of several, as of an app with a library that was renamed apart, the one of the most functions.
  std::map<std::string_view, size_t> map_ids;
  for (const report::Symbol& symbol : report.symbols) {
    if (symbol.module == report::kNoModule || report.modules[symbol.module].path != kJavaModule) continue;
    const std::string_view file = Split(symbol.name).file;
    if (file.starts_with(kMapIdFile)) ++map_ids[file.substr(kMapIdFile.size())];
  }
  std::vector<std::string> ids;
  const auto most = std::ranges::max_element(map_ids, {}, [](const auto& each) { return each.second; });
  if (most != map_ids.end()) ids.push_back(MappingIdOfMapId(most->first));
  ids.push_back(MappingIdOfApp(report.app, report.app_version));
  return ids;
}

std::vector<std::string> WantedMappingIdsOf(const report::Report& report) {
  if (!HasJava(report)) return {};
  std::set<std::pair<uint32_t, uint64_t>> places;
  for (const report::Frame& frame : report.stacks[report.expensive_stack].frames) {
    if (frame.module != report::kNoModule && report.modules[frame.module].path == kJavaModule)
      places.emplace(frame.module, frame.symbol_offset());
  }
  const bool has_renamed = std::ranges::any_of(report.symbols, [&](const report::Symbol& symbol) {
    return places.contains({symbol.module, symbol.function_offset}) && LooksRenamed(Split(symbol.name));
  });
  return has_renamed ? MappingIdsOf(report) : std::vector<std::string>();
}

bool IsSourceFileName(std::string_view file) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{".java", ".kt", ".kts", ".scala", ".groovy"},
      [&](std::string_view end) { return file.ends_with(end) && file.size() > end.size(); });
}

}  // namespace lagwatch::collector
