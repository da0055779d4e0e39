// SPDX-License-Identifier: Apache-2.0
// Encodes the fields of a message as they are read from their columns, without taking the message apart
// first. Writes the same bytes as WriteMessage(). Context: background; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/packed/message_spec.h"
#include "report/format/packed/predictor.h"
#include "report/format/protozero_checked.h"

namespace lagwatch::report::packed {

// The fields of one message that were read so far.
class FlatValues {
 public:
  static constexpr size_t kMostFields = 40;

  explicit FlatValues(const MessageSpec& spec) {
    if (spec.fields.size() > kMostFields) throw SchemaError{"it has more fields than are known here"};
  }

  void Set(size_t place, uint64_t number) { cells_[place] = {number, nullptr, 0}; }
  void Set(size_t place, std::string_view text) {
    cells_[place] = {0, text.empty() ? "" : text.data(), text.size()};
  }
  void SetId(size_t place, std::string_view id) {
    Set(place, id);
    if (has_id_) return;
    has_id_ = true;
    first_id_ = id;
  }

  uint64_t NumberAt(size_t place) const { return cells_[place].number; }
  std::string_view KeyAt(size_t place) const {
    const Cell& cell = cells_[place];
    if (cell.text != nullptr) return {cell.text, cell.size};
    return {reinterpret_cast<const char*>(&cell.number), sizeof cell.number};
  }
  std::string_view FirstId() const { return first_id_; }

 private:
  struct Cell {
    uint64_t number;
    const char* text;  // null of a number
    size_t size;
  };

  std::array<Cell, kMostFields> cells_;  // set up to the field at hand
  std::string_view first_id_;
  bool has_id_ = false;
};

// `Cells` has the functions that WalkMessage() calls, and bytes_left(): as many may be written.
template <typename Cells>
class FieldEncoder {
 public:
  FieldEncoder(Predictor* predictor, Cells* cells, std::string* bytes)
      : predictor_(predictor), cells_(cells), bytes_(bytes) {}

  // The fields from `first_place` on, and those that the spec does not know, of the `index`-th of a list.
  void Append(const MessageSpec& spec, size_t first_place, size_t index);

 private:
  static constexpr size_t kLargestHeadBytes = 16;  // of a tag and a length or number
  static constexpr uint64_t kVarint = 0;
  static constexpr uint64_t kFixed64 = 1;
  static constexpr uint64_t kLengthDelimited = 2;

  void MakeRoomFor(size_t count) const {
    const size_t limit_bytes = cells_->bytes_left();
    if (bytes_->size() > limit_bytes || count > limit_bytes - bytes_->size())
      throw SchemaError{"it holds more than one request may"};
  }
  void AppendHead(uint64_t tag, uint64_t number) {
    char head[2 * protozero::max_varint_length];
    int size = protozero::add_varint_to_buffer(head, tag);
    size += protozero::add_varint_to_buffer(head + size, number);
    bytes_->append(head, static_cast<size_t>(size));
  }
  void AppendNumber(const FieldSpec& field, uint64_t number) {
    if (field.number == 0 || number == 0) return;
    MakeRoomFor(kLargestHeadBytes);
    AppendHead(uint64_t{field.number} << 3 | kVarint, number);
  }
  void AppendText(const FieldSpec& field, std::string_view text);
  void AppendNumbers(const FieldSpec& field);
  void AppendMessages(const FieldSpec& field);

  Predictor* predictor_;
  Cells* cells_;
  std::string* bytes_;
  std::vector<uint64_t> numbers_;
  std::string unknown_;
};

template <typename Cells>
void FieldEncoder<Cells>::Append(const MessageSpec& spec, size_t first_place, size_t index) {
  FlatValues values(spec);
  for (size_t place = first_place; place < spec.fields.size(); ++place) {
    const FieldSpec& field = spec.fields[place];
    switch (field.shape) {
      case Shape::kNumber: {
        uint64_t number = 0;
        cells_->Number(field.column, predictor_->Predict(field, index, values), &number);
        predictor_->Learn(field, index, values, number);
        values.Set(place, number);
        AppendNumber(field, number);
        break;
      }
      case Shape::kText:
      case Shape::kFixed64:
      case Shape::kId: {
        std::string_view text;
        if (field.shape == Shape::kId) {
          cells_->Id(field.column, &text);
          values.SetId(place, text);
        } else {
          cells_->Text(field.column, &text);
          values.Set(place, text);
        }
        AppendText(field, text);
        break;
      }
      case Shape::kNumbers:
        AppendNumbers(field);
        break;
      case Shape::kMessage:
      case Shape::kMessages:
        AppendMessages(field);
        break;
    }
  }
  cells_->Unknown(spec.unknown_column, &unknown_);
  MakeRoomFor(unknown_.size());
  bytes_->append(unknown_);
}

template <typename Cells>
void FieldEncoder<Cells>::AppendText(const FieldSpec& field, std::string_view text) {
  if (field.number == 0 || text.empty()) return;
  MakeRoomFor(kLargestHeadBytes + text.size());
  if (field.shape == Shape::kFixed64) {
    if (text.size() != sizeof(uint64_t)) throw SchemaError{"a fixed64 is not 8 bytes"};
    protozero::add_varint_to_buffer(bytes_, uint64_t{field.number} << 3 | kFixed64);
  } else {
    AppendHead(uint64_t{field.number} << 3 | kLengthDelimited, text.size());
  }
  bytes_->append(text);
}

template <typename Cells>
void FieldEncoder<Cells>::AppendNumbers(const FieldSpec& field) {
  size_t count = 0;
  cells_->Count(field.column, &count);
  numbers_.resize(count);
  for (uint64_t& number : numbers_) cells_->Number(field.column + 1, 0, &number);
  if (field.number == 0) return;
  MakeRoomFor(kLargestHeadBytes + count);
  protozero::pbf_writer(*bytes_).add_packed_uint64(field.number, numbers_.begin(), numbers_.end());
}

template <typename Cells>
void FieldEncoder<Cells>::AppendMessages(const FieldSpec& field) {
  size_t count = 0;
  cells_->Count(field.column, &count);
  for (size_t i = 0; i < count; ++i) {
    MakeRoomFor(kLargestHeadBytes);
    AppendHead(uint64_t{field.number} << 3 | kLengthDelimited, 0);  // most are shorter than 128 bytes
    const size_t begin = bytes_->size();
    Append(*field.message, 0, i);
    const size_t length = bytes_->size() - begin;
    if (length < 128) {
      (*bytes_)[begin - 1] = static_cast<char>(length);
      continue;
    }
    char varint[protozero::max_varint_length];
    const int size = protozero::add_varint_to_buffer(varint, length);
    bytes_->replace(begin - 1, 1, varint, static_cast<size_t>(size));
  }
}

}  // namespace lagwatch::report::packed
