// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/columns.h"

#include <algorithm>
#include <iterator>

#include "report/format/protozero_checked.h"

namespace lagwatch::report::packed {
namespace {

// By unit less 1: of decimal times, and of addresses of pages.
constexpr uint64_t kUnits[] = {1,         10,         100,         1'000,         10'000,         100'000,
                               1'000'000, 10'000'000, 100'000'000, 1'000'000'000, 10'000'000'000, 4096};

bool AllZero(const std::vector<uint64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](uint64_t number) { return number == 0; });
}

// A difference is signed, and divided as such.
uint64_t Divided(uint64_t number, uint64_t unit, bool is_signed) {
  if (!is_signed) return number / unit;
  return static_cast<uint64_t>(static_cast<int64_t>(number) / static_cast<int64_t>(unit));
}

bool DividesAll(uint64_t unit, const std::vector<uint64_t>& numbers, bool is_signed) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](uint64_t number) { return Divided(number, unit, is_signed) * unit == number; });
}

}  // namespace

void AppendColumn(const std::vector<uint64_t>& numbers, bool is_signed, std::string* bytes) {
  if (AllZero(numbers)) {
    bytes->push_back(0);
    return;
  }
  size_t best = 0;
  for (size_t i = 1; i < std::size(kUnits); ++i) {
    if (kUnits[i] > kUnits[best] && DividesAll(kUnits[i], numbers, is_signed)) best = i;
  }
  bytes->push_back(static_cast<char>(best + 1));
  for (uint64_t number : numbers) {
    const uint64_t divided = Divided(number, kUnits[best], is_signed);
    protozero::add_varint_to_buffer(
        bytes, is_signed ? protozero::encode_zigzag64(static_cast<int64_t>(divided)) : divided);
  }
}

ColumnReader::ColumnReader(size_t count, bool is_signed, std::string_view* bytes) {
  if (bytes->empty()) throw SchemaError{"a column is missing"};
  const size_t unit = static_cast<uint8_t>(bytes->front());
  bytes->remove_prefix(1);
  if (unit == 0) return;
  // A number has a byte at least.
  if (unit > std::size(kUnits) || count > bytes->size()) throw SchemaError{"a column is no column"};
  numbers_.reserve(count);
  const char* at = bytes->data();
  for (size_t i = 0; i < count; ++i) {
    const uint64_t number = protozero::decode_varint(&at, bytes->data() + bytes->size());
    const uint64_t divided = is_signed ? static_cast<uint64_t>(protozero::decode_zigzag64(number)) : number;
    numbers_.push_back(divided * kUnits[unit - 1]);
  }
  bytes->remove_prefix(static_cast<size_t>(at - bytes->data()));
}

size_t ColumnReader::Sum(size_t limit) const {
  size_t sum = 0;
  for (uint64_t number : numbers_) {
    if (number > limit - sum) throw SchemaError{"it holds more than one request may"};
    sum += number;
  }
  return sum;
}

}  // namespace lagwatch::report::packed
