// SPDX-License-Identifier: Apache-2.0
#include "tools/read/table.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>

namespace lagwatch::tools {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kMinElasticWidth = 12;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

size_t WidthOf(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

// Bytes that the first `characters` of `text` take.
size_t BytesOf(size_t characters, std::string_view text) {
  size_t bytes = 0;
  for (; characters > 0 && bytes < text.size(); --characters) {
    do {
      ++bytes;
    } while (bytes < text.size() && IsContinuation(text[bytes]));
  }
  return bytes;
}

// What does not fit ends with an ellipsis.
std::string CutTo(size_t width, const std::string& text) {
  return WidthOf(text) <= width ? text : text.substr(0, BytesOf(width - 1, text)) + "…";
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    bool is_control = byte < 0x20 || byte == 0x7f || is_c1;
    printable += is_control ? '?' : text[i];
    i += is_c1;
  }
  return printable;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string ShortDuration(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 1000 ? "%.0f ms" : "%.1f s", ms < 1000 ? ms : ms / 1000);
  return text;
}

std::string UtcTime(int64_t wall_ms) {
  std::time_t seconds = wall_ms / 1000;
  std::tm parts{};
  char text[64];
  if (!gmtime_r(&seconds, &parts) || !std::strftime(text, sizeof text, "%F %T", &parts)) return "?";
  return text;
}

void Table::AddRow(const std::vector<std::string>& cells) {
  std::vector<std::string>& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(Printable(cell));
}

std::string Table::ToText(size_t max_width) const {
  std::vector<size_t> widths = Widths(max_width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = Line(titles, widths);
  for (const auto& row : rows_) text += Line(row, widths);
  return text;
}

std::vector<size_t> Table::Widths(size_t max_width) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = WidthOf(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, WidthOf(row[i]));
    widths.push_back(width);
  }
  size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (columns_.size() - 1));
  auto elastic =
      std::find_if(columns_.begin(), columns_.end(), [](const Column& column) { return column.is_elastic; });
  if (max_width != 0 && total > max_width && elastic != columns_.end()) {
    size_t& width = widths[elastic - columns_.begin()];
    size_t others = total - width;
    size_t left = max_width > others ? max_width - others : 0;
    width = std::min(width, std::max(left, kMinElasticWidth));
  }
  return widths;
}

std::string Table::Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = CutTo(widths[i], cells[i]);
    std::string padding(widths[i] - WidthOf(cell), ' ');
    if (i > 0) line.append(kGap, ' ');
    line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace lagwatch::tools
