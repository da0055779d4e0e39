// SPDX-License-Identifier: Apache-2.0
// The numbers of one field of all messages of a batch, one after the other, as bytes:
//
//   column = 00                  all of them are 0
//          | unit varint…        each number divided by 10^(unit - 1), or by 4096 when unit is 12
//
// Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::report::packed {

// With the largest unit that divides all.
void AppendColumn(const std::vector<uint64_t>& numbers, bool is_signed, std::string* bytes);

// Takes bytes from the front of `*bytes`. Throws when they are not as above.
class ColumnReader {
 public:
  ColumnReader() = default;
  ColumnReader(size_t count, bool is_signed, std::string_view* bytes);

  // 0 past the end: of a column of zeros nothing is kept.
  uint64_t Next() { return next_ < numbers_.size() ? numbers_[next_++] : 0; }

  // Of all its numbers; throws when that is over `limit`.
  size_t Sum(size_t limit) const;

 private:
  std::vector<uint64_t> numbers_;
  size_t next_ = 0;
};

}  // namespace lagwatch::report::packed
