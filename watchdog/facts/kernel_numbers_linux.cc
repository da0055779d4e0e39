// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/facts/kernel_numbers.h"

namespace lagwatch::watchdog {

void AddIfKnown(const char* name, int64_t number, FactList* facts) {
  if (number != kNotKnown) facts->Add(name, number);
}

int64_t NumberOf(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t number = 0;
  return base::ConsumeDecimal(&text, &number) ? static_cast<int64_t>(number) : kNotKnown;
}

int64_t NumberAfter(std::string_view lines, std::string_view key) {
  const auto number = base::NumberInLine(lines, key);
  return number ? static_cast<int64_t>(*number) : kNotKnown;
}

int64_t DecimalOf(std::string_view text, int64_t scale) {
  uint64_t whole = 0;
  if (!base::ConsumeDecimal(&text, &whole)) return kNotKnown;
  int64_t number = static_cast<int64_t>(whole) * scale;
  if (!text.starts_with('.')) return number;
  for (size_t i = 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    scale /= 10;
    number += (text[i] - '0') * scale;
  }
  return number;
}

void AddPressure(const char* path, PressureFacts names, FactList* facts) {
  constexpr int64_t kPermillePerPercent = 10;
  constexpr std::string_view kAverage = "avg10=";
  char buffer[256];
  std::string_view lines = base::ReadSmallFile(path, buffer, sizeof buffer);
  auto average = [&](std::string_view kind) {
    size_t line = lines.find(kind);
    size_t at = line == std::string_view::npos ? line : lines.find(kAverage, line);
    if (at == std::string_view::npos) return kNotKnown;
    return DecimalOf(lines.substr(at + kAverage.size()), kPermillePerPercent);
  };
  AddIfKnown(names.some, average("some "), facts);
  if (names.full != nullptr) AddIfKnown(names.full, average("full "), facts);
}

}  // namespace lagwatch::watchdog
