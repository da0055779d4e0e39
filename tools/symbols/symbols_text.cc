// SPDX-License-Identifier: Apache-2.0
#include "tools/symbols/symbols_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/read/table.h"

namespace lagwatch::tools {

std::string ShortSize(uint64_t size_bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto size = static_cast<double>(size_bytes);
  size_t unit = 0;
  for (; size >= 1000 && unit + 1 < kUnits.size(); ++unit) size /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
  return text;
}

std::string ProgressLine(const UploadState& state) {
  constexpr size_t kWidth = 20;
  const double share =
      state.total_bytes == 0
          ? 1
          : std::min(1.0, static_cast<double>(state.bytes) / static_cast<double>(state.total_bytes));
  const auto filled = static_cast<size_t>(share * kWidth);
  const double rate = state.seconds > 0 ? static_cast<double>(state.bytes) / state.seconds : 0;
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3.0f %%", share * 100);
  return "[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " + percent + "  " +
         ShortSize(state.bytes) + " of " + ShortSize(state.total_bytes) + "  " +
         ShortSize(static_cast<uint64_t>(rate)) + "/s  " + std::to_string(state.files) + " of " +
         std::to_string(state.total_files) + " files";
}

std::string SymbolTable(const Json& files, size_t max_width) {
  Table table({{"BUILD ID"}, {"KIND"}, {"SIZE", Table::Align::kRight}, {"STORED"}, {"LAST USED"}, {"OF"}});
  for (const Json& file : files) {
    table.AddRow({file.at("build_id").get<std::string>(), file.at("kind").get<std::string>(),
                  ShortSize(file.at("size_bytes").get<uint64_t>()),
                  UtcTime(file.at("stored_wall_ms").get<int64_t>()),
                  UtcTime(file.at("used_wall_ms").get<int64_t>()),
                  file.contains("app") ? file.value("app", "") + " " + file.value("version", "")
                                       : file.value("map_id", "")});
  }
  return table.ToText(max_width);
}

}  // namespace lagwatch::tools
