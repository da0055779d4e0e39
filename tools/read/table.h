// SPDX-License-Identifier: Apache-2.0
// Text for people: aligned tables and short forms of numbers. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::tools {

// Reports come from other machines: control characters in them would steer the reader's terminal, and
// those that change the direction of text, or have no width, would show another text, so they become '?'.
// `text` is UTF-8.
std::string Printable(std::string_view text);

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// "312 ms", "4.1 s".
std::string ShortDuration(double ms);
// "0.152", "4.1", "27.3", "1234": three digits that count.
std::string ThreeDigits(double number);
// "2026-11-21 03:19:19", in UTC.
std::string UtcTime(int64_t wall_ms);

// Ends a text of more than `width` characters, which are one at least, with an ellipsis.
std::string CutTo(size_t width, const std::string& text);

// Breaks the text at blanks, so that lines are not over `width` characters as far as words permit; all but
// the first begin with `indent` blanks, which count. The first one begins at `indent` on the screen. 0: any
// width.
std::string Wrapped(std::string_view text, size_t width, size_t indent);

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool is_elastic = false;  // gives way when lines get too long; at most one column does
    // Columns are left out, the highest first, until the elastic one has room; 1: only where it has hardly
    // any; 0: never left out.
    int leave_out = 0;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell for every column. Cells are made printable.
  void AddRow(const std::vector<std::string>& cells);
  // All lines, each with its end. Lines are not over `max_width` characters as far as the elastic column can
  // shrink; 0 means any width.
  std::string ToText(size_t max_width) const;

 private:
  std::vector<size_t> Widths(size_t max_width) const;
  // Without columns that do not fit.
  Table Fitting(size_t max_width) const;
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lagwatch::tools
