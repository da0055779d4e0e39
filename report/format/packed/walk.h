// SPDX-License-Identifier: Apache-2.0
// The order of all numbers of a batch, for packing and unpacking alike.
// Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "report/format/packed/message.h"
#include "report/format/packed/predictor.h"

namespace lagwatch::report::packed {

// Calls, in the columns' order, `visitor->Column(column, count, is_signed)` for each that messages of `spec`
// have when there are `count` of them, and `visitor->Counts(column, count)` for those that say how many there
// are of something, which returns their sum.
template <typename Visitor>
void VisitColumns(const MessageSpec& spec, size_t count, Visitor* visitor) {
  for (const FieldSpec& field : spec.fields) {
    switch (field.shape) {
      case Shape::kNumber:
      case Shape::kText:
      case Shape::kFixed64:
      case Shape::kId:
        visitor->Column(field.column, count, IsSigned(field.model));
        break;
      case Shape::kNumbers:
        if (size_t sum = visitor->Counts(field.column, count)) visitor->Column(field.column + 1, sum, false);
        break;
      case Shape::kMessage:
      case Shape::kMessages:
        if (size_t sum = visitor->Counts(field.column, count)) VisitColumns(*field.message, sum, visitor);
        break;
    }
  }
  visitor->Column(spec.unknown_column, count, false);
}

// As WalkMessage, of the fields before `end_place` alone.
template <typename Cells>
void WalkFields(Message* message, size_t end_place, size_t index, Predictor* predictor, Cells* cells);

// Calls for each value of `message`, the `index`-th of its list:
//   cells->Number(column, predicted, &number)
//   cells->Text(column, &text), cells->Id(column, &id), cells->Unknown(column, &bytes)
//   cells->Count(column, &count): of a list's elements
template <typename Cells>
void WalkMessage(Message* message, size_t index, Predictor* predictor, Cells* cells) {
  WalkFields(message, message->values.size(), index, predictor, cells);
  cells->Unknown(message->spec->unknown_column, &message->unknown);
}

template <typename Cells>
void WalkFields(Message* message, size_t end_place, size_t index, Predictor* predictor, Cells* cells) {
  const MessageValues values(message);
  for (size_t place = 0; place < end_place; ++place) {
    const FieldSpec& field = message->spec->fields[place];
    switch (field.shape) {
      case Shape::kNumber: {
        uint64_t& number = message->number(place);
        cells->Number(field.column, predictor->Predict(field, index, values), &number);
        predictor->Learn(field, index, values, number);
        break;
      }
      case Shape::kText:
      case Shape::kFixed64:
        cells->Text(field.column, &message->text(place));
        break;
      case Shape::kId:
        cells->Id(field.column, &message->text(place));
        break;
      case Shape::kNumbers: {
        Numbers& numbers = message->numbers(place);
        size_t count = numbers.size();
        cells->Count(field.column, &count);
        numbers.resize(count);
        for (uint64_t& number : numbers) cells->Number(field.column + 1, 0, &number);
        break;
      }
      case Shape::kMessage:
      case Shape::kMessages: {
        Messages& children = message->messages(place);
        size_t count = children.size();
        cells->Count(field.column, &count);
        children.reserve(count);
        while (children.size() < count) children.emplace_back(field.message, message->memory());
        for (size_t i = 0; i < count; ++i) WalkMessage(&children[i], i, predictor, cells);
        break;
      }
    }
  }
}

}  // namespace lagwatch::report::packed
