// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/layout.h"

namespace lagwatch::stack::python {
namespace {

constexpr uint32_t kUnitBytes = 2;  // of code
constexpr int64_t kMostLine = 10'000'000;

uint32_t InRange(int64_t line) { return line > 0 && line <= kMostLine ? static_cast<uint32_t>(line) : 0; }

// Pairs of a distance in bytes and a distance in lines, of which both follow each other.
uint32_t LineByLnotab(std::span<const uint8_t> table, int64_t line, uint32_t instruction) {
  uint32_t address = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    address += table[i];
    if (address > instruction) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return InRange(line);
}

// Pairs of a length in bytes and the distance of that range's line from the last; -128: it has none.
uint32_t LineByLineTable(std::span<const uint8_t> table, int64_t line, uint32_t instruction) {
  constexpr int8_t kNoLine = -128;
  uint32_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto distance = static_cast<int8_t>(table[i + 1]);
    end += table[i];
    if (distance != kNoLine) line += distance;
    if (instruction < end) return distance == kNoLine ? 0 : InRange(line);
  }
  return 0;
}

class LocationReader {
 public:
  explicit LocationReader(std::span<const uint8_t> table) : table_(table) {}

  bool is_at_end() const { return place_ >= table_.size(); }
  uint8_t Next() { return is_at_end() ? 0 : table_[place_++]; }
  // Six bits a byte, the lowest first.
  int64_t NextSigned() {
    uint64_t value = 0;
    for (int shift = 0; shift < 36; shift += 6) {
      const uint8_t byte = Next();
      value |= uint64_t{byte & 0x3fU} << shift;
      if ((byte & 0x40) == 0) break;
    }
    const auto half = static_cast<int64_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
  }
  // To the next entry's first byte, which alone has the highest bit set.
  void SkipRest() {
    while (!is_at_end() && (table_[place_] & 0x80) == 0) ++place_;
  }

 private:
  std::span<const uint8_t> table_;
  size_t place_ = 0;
};

uint32_t LineByLocations(std::span<const uint8_t> table, int64_t line, uint32_t instruction) {
  constexpr int kNoLine = 15;
  constexpr int kLong = 14;
  constexpr int kNoColumns = 13;
  constexpr int kFirstOneLine = 10;  // 10, 11, 12: the distance is 0, 1, 2
  LocationReader reader(table);
  uint32_t end = 0;
  while (!reader.is_at_end()) {
    const uint8_t head = reader.Next();
    const int kind = head >> 3 & 15;
    end += ((head & 7) + 1) * kUnitBytes;
    if (kind == kLong || kind == kNoColumns) {
      line += reader.NextSigned();
    } else if (kind >= kFirstOneLine && kind < kNoColumns) {
      line += kind - kFirstOneLine;
    }
    if (instruction < end) return kind == kNoLine ? 0 : InRange(line);
    reader.SkipRest();
  }
  return 0;
}

}  // namespace

uint32_t LineOf(LineTable kind, std::span<const uint8_t> table, uint32_t first_line, uint32_t instruction) {
  switch (kind) {
    case LineTable::kLnotab:
      return LineByLnotab(table, first_line, instruction);
    case LineTable::kLineTable:
      return LineByLineTable(table, first_line, instruction);
    case LineTable::kLocations:
      return LineByLocations(table, first_line, instruction);
  }
  return 0;
}

}  // namespace lagwatch::stack::python
