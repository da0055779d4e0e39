// SPDX-License-Identifier: Apache-2.0
// ClickHouse's format RowBinary: how rows go there and come back, without quoting. Ids are FixedString(16),
// which sort as the ids do; days are Date; all other numbers are Int64, UInt64 or Float64. Context:
// background.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/uuid.h"

namespace lagwatch::collector {

class RowWriter {
 public:
  void Int(int64_t value);
  void Real(double value);
  void Day(int64_t day);  // since 1970; cut to those that all versions of ClickHouse know
  void Id(const base::Uuid& id);
  void Text(std::string_view text);
  // Rows, or columns, that another one has written.
  void Bytes(std::string_view bytes) { bytes_ += bytes; }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string bytes_;
};

// The last of them; what is said to be later is stored there.
inline constexpr int64_t kLastDay = 49'000;

// As far as an int64_t goes.
inline int64_t WholeNumber(double number) {
  return number < 9.2e18 ? static_cast<int64_t>(number) : INT64_MAX;
}

// A row of an answer, borrowed from it. Columns count from 0.
class Row {
 public:
  static constexpr size_t kMostColumns = 32;

  // `kinds` has a letter for each column: u an id, i a whole number, d a Float64, s a text. Takes a row off
  // the front of `bytes`; false when it is not there as a whole.
  bool Take(std::string_view kinds, std::string_view* bytes);

  int64_t Int(size_t column) const;
  double Real(size_t column) const;
  base::Uuid Id(size_t column) const;
  std::string Text(size_t column) const { return std::string(columns_[column]); }
  std::string_view Bytes(size_t column) const { return columns_[column]; }

 private:
  std::array<std::string_view, kMostColumns> columns_;
};

}  // namespace lagwatch::collector
