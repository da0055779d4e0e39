// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/row_binary.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "collector/sketches/varint.h"

namespace lagwatch::collector {
namespace {

static_assert(std::endian::native == std::endian::little, "RowBinary is little-endian");

constexpr size_t kIdSize = 16;
constexpr size_t kNumberSize = 8;

template <typename Number>
void AppendNumber(Number number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

template <typename Number>
Number NumberAt(std::string_view bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace

void RowWriter::Int(int64_t value) { AppendNumber(value, &bytes_); }
void RowWriter::Real(double value) { AppendNumber(value, &bytes_); }
void RowWriter::Day(int64_t day) {
  AppendNumber(static_cast<uint16_t>(std::clamp<int64_t>(day, 1, kLastDay)), &bytes_);
}
void RowWriter::Id(const base::Uuid& id) { bytes_.append(id.as_bytes()); }
void RowWriter::Text(std::string_view text) {
  AppendVarint(text.size(), &bytes_);
  bytes_.append(text);
}

bool Row::Take(std::string_view kinds, std::string_view* bytes) {
  std::string_view rest = *bytes;
  for (size_t i = 0; i < kinds.size(); ++i) {
    uint64_t size = kinds[i] == 'u' ? kIdSize : kNumberSize;
    if (kinds[i] == 's' && !TakeVarint(&rest, &size)) return false;
    if (rest.size() < size) return false;
    columns_[i] = rest.substr(0, size);
    rest.remove_prefix(size);
  }
  *bytes = rest;
  return true;
}

int64_t Row::Int(size_t column) const { return NumberAt<int64_t>(columns_[column]); }
double Row::Real(size_t column) const { return NumberAt<double>(columns_[column]); }
base::Uuid Row::Id(size_t column) const {
  return base::TryUuidFromBytes(columns_[column]).value_or(base::Uuid{});
}

}  // namespace lagwatch::collector
