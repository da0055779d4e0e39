// SPDX-License-Identifier: Apache-2.0
#include "tools/read/table.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/text.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kMinElasticWidth = 12;
constexpr size_t kUsefulElasticWidth = 36;  // of functions' names
constexpr size_t kLeastElasticWidth = 20;   // … where columns must go that one misses

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

size_t WidthOf(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

// Bytes of the character at the beginning of `text` when it is a control character, marks a direction or has
// no width; 0 when it is another.
size_t SizeOfHidden(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto is_between = [](unsigned first, unsigned value, unsigned last) {
    return first <= value && value <= last;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && is_between(0x80, byte(1), 0x9f)) return 2;  // C1
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;                  // U+061C
  if (byte(0) == 0xe2 && byte(1) == 0x80 &&
      (byte(2) == 0x8b || is_between(0x8e, byte(2), 0x8f) || is_between(0xa8, byte(2), 0xae)))
    return 3;  // U+200B, E, F, U+2028…202E
  if (byte(0) == 0xe2 && byte(1) == 0x81 && is_between(0xa0, byte(2), 0xaf)) return 3;  // U+2060…206F
  if (byte(0) == 0xef && byte(1) == 0xbb && byte(2) == 0xbf) return 3;                  // U+FEFF
  return 0;
}

// Bytes of the character at the beginning of `text`; 0 if its first byte begins none in UTF-8: a terminal may
// take that for a control character of eight bits.
size_t SizeOfCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const std::string_view rest = text.substr(1, size - 1);
  return rest.size() == size - 1 && std::ranges::all_of(rest, IsContinuation) ? size : 0;
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

}  // namespace

std::string CutTo(size_t width, const std::string& text) {
  return WidthOf(text) <= width ? text : text.substr(0, BytesOf(width - 1, text)) + "…";
}

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t hidden = SizeOfHidden(text);
    const size_t size = hidden > 0 ? hidden : SizeOfCharacter(text);
    if (hidden > 0 || size == 0) {
      printable += '?';
    } else {
      printable += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
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

std::string ThreeDigits(double number) {
  char text[64];
  const double size = number < 0 ? -number : number;
  std::snprintf(text, sizeof text, "%.*f", size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3, number);
  std::string digits = text;
  const size_t point = digits.find('.');
  while (point != digits.npos && digits.ends_with('0') && digits.size() > point + 2) digits.pop_back();
  return digits;
}

std::string UtcTime(int64_t wall_ms) { return base::UtcText(wall_ms, "%F %T"); }

std::string Wrapped(std::string_view text, size_t width, size_t indent) {
  std::string lines;
  size_t used = indent;
  while (!text.empty()) {
    const std::string_view word = base::TakeUntil(' ', &text);
    if (width != 0 && used > indent && used + 1 + WidthOf(word) > width) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!lines.empty()) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += WidthOf(word);
  }
  return lines;
}

void Table::AddRow(const std::vector<std::string>& cells) {
  std::vector<std::string>& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(Printable(cell));
}

Table Table::Fitting(size_t max_width) const {
  Table fitting = *this;
  while (max_width != 0) {
    const auto first = std::ranges::max_element(fitting.columns_, {}, &Column::leave_out);
    const size_t wanted = first->leave_out == 1 ? kLeastElasticWidth : kUsefulElasticWidth;
    std::vector<size_t> widths = fitting.Widths(0);
    size_t total = kGap * (widths.size() - 1);
    for (size_t i = 0; i < widths.size(); ++i)
      total += fitting.columns_[i].is_elastic ? std::min(widths[i], wanted) : widths[i];
    if (total <= max_width || first->leave_out == 0) break;
    const auto index = first - fitting.columns_.begin();
    fitting.columns_.erase(first);
    for (auto& row : fitting.rows_) row.erase(row.begin() + index);
  }
  return fitting;
}

std::string Table::ToText(size_t max_width) const {
  const bool can_leave_out =
      std::ranges::any_of(columns_, [](const Column& column) { return column.leave_out > 0; });
  if (max_width != 0 && can_leave_out) {
    Table fitting = Fitting(max_width);
    for (Column& column : fitting.columns_) column.leave_out = 0;
    return fitting.ToText(max_width);
  }
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
