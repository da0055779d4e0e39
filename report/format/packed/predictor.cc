// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/predictor.h"

namespace lagwatch::report::packed {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

// Borrows `value`.
std::string_view KeyOf(const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
  const auto& number = std::get<uint64_t>(value);
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// A UUIDv7 begins with its time, 48 bits of milliseconds.
uint64_t TimeOfFirstId(const Message& message) {
  constexpr size_t kTimeBytes = 6;
  for (size_t place = 0; place < message.values.size(); ++place) {
    if (message.spec->fields[place].shape != Shape::kId) continue;
    const auto id = std::get<std::string_view>(message.values[place]);
    uint64_t ms = 0;
    for (size_t i = 0; i < kTimeBytes && i < id.size(); ++i) ms = ms << 8 | static_cast<uint8_t>(id[i]);
    return ms;
  }
  return 0;
}

// 0 when the peer is no number.
uint64_t PeerNumber(const Message& message, const FieldSpec& field) {
  const auto* number = std::get_if<uint64_t>(&message.values[field.peer]);
  return number != nullptr ? *number : 0;
}

}  // namespace

uint64_t& Predictor::Past::NumberOf(std::string_view key) {
  const auto found = by_key.find(key);
  return found != by_key.end() ? found->second : by_key[std::string(key)];
}

uint64_t Predictor::Predict(const Message& message, size_t place, size_t index) {
  const FieldSpec& field = message.spec->fields[place];
  switch (field.model) {
    case Model::kAsIs:
      return 0;
    case Model::kDelta:
      return past_[field.column].last;
    case Model::kKeyed:
      return past_[field.column].NumberOf(KeyOf(message.values[field.peer]));
    case Model::kAges:
      return index == 0 ? 0 : past_[field.column].last - PeerNumber(message, field);
    case Model::kEvenAges:
      return index == 0 ? 0 : past_[field.column].last - past_[field.column].step;
    case Model::kIdTime:
      return TimeOfFirstId(message) - PeerNumber(message, field) / kNsPerMs;
  }
  return 0;
}

void Predictor::Learn(const Message& message, size_t place, size_t index, uint64_t number) {
  const FieldSpec& field = message.spec->fields[place];
  if (field.model == Model::kAsIs || field.model == Model::kIdTime) return;
  Past& past = past_[field.column];
  if (index != 0) past.step = past.last - number;
  past.last = number;
  if (field.model == Model::kKeyed) past.NumberOf(KeyOf(message.values[field.peer])) = number;
}

}  // namespace lagwatch::report::packed
