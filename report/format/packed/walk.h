// SPDX-License-Identifier: Apache-2.0
// The order of all numbers of a batch, for packing and unpacking alike.
// Context: background; pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "report/format/packed/message.h"
#include "report/format/packed/predictor.h"

namespace lagwatch::report::packed {

// A column: of a field's values, or of how many there are in each message; of a message's unknown fields.
struct ColumnKey {
  const void* owner;  // a FieldSpec or a MessageSpec
  int part = 0;       // 1: the elements of packed numbers

  auto operator<=>(const ColumnKey&) const = default;
};

// Calls, in the columns' order, `visitor->Column(key, count, is_signed)` for each that messages of `spec`
// have when there are `count` of them, and `visitor->Counts(key, count)` for those that say how many there
// are of something, which returns their sum.
template <typename Visitor>
void VisitColumns(const MessageSpec& spec, size_t count, Visitor* visitor) {
  for (const FieldSpec& field : spec.fields) {
    switch (field.shape) {
      case Shape::kNumber:
      case Shape::kText:
      case Shape::kFixed64:
      case Shape::kId:
        visitor->Column({&field}, count, IsSigned(field.model));
        break;
      case Shape::kNumbers:
        if (size_t sum = visitor->Counts({&field}, count)) visitor->Column({&field, 1}, sum, false);
        break;
      case Shape::kMessage:
      case Shape::kMessages:
        if (size_t sum = visitor->Counts({&field}, count)) VisitColumns(*field.message, sum, visitor);
        break;
    }
  }
  visitor->Column({&spec}, count, false);
}

// Calls for each value of `message`, the `index`-th of its list:
//   cells->Number(key, predicted, &number)
//   cells->Text(key, &text), cells->Id(key, &id), cells->Unknown(key, &bytes)
//   cells->Resize(key, &list, element): sets or tells how many there are
template <typename Cells>
void WalkMessage(Message* message, size_t index, Predictor* predictor, Cells* cells) {
  for (size_t place = 0; place < message->values.size(); ++place) {
    const FieldSpec& field = message->spec->fields[place];
    const ColumnKey key{&field};
    switch (field.shape) {
      case Shape::kNumber: {
        uint64_t& number = message->number(place);
        cells->Number(key, predictor->Predict(*message, place, index), &number);
        predictor->Learn(*message, place, index, number);
        break;
      }
      case Shape::kText:
      case Shape::kFixed64:
        cells->Text(key, &message->text(place));
        break;
      case Shape::kId:
        cells->Id(key, &message->text(place));
        break;
      case Shape::kNumbers:
        cells->Resize(key, &message->numbers(place), uint64_t{0});
        for (uint64_t& number : message->numbers(place)) cells->Number({&field, 1}, 0, &number);
        break;
      case Shape::kMessage:
      case Shape::kMessages: {
        cells->Resize(key, &message->messages(place), Message(field.message));
        size_t child_index = 0;
        for (Message& child : message->messages(place)) WalkMessage(&child, child_index++, predictor, cells);
        break;
      }
    }
  }
  cells->Unknown({message->spec}, &message->unknown);
}

}  // namespace lagwatch::report::packed
