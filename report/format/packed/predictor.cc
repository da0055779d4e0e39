// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/predictor.h"

namespace lagwatch::report::packed {

uint64_t MessageValues::NumberAt(size_t place) const {
  const auto* number = std::get_if<uint64_t>(&message_->values[place]);
  return number != nullptr ? *number : 0;
}

std::string_view MessageValues::KeyAt(size_t place) const {
  const Value& value = message_->values[place];
  if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
  const auto& number = std::get<uint64_t>(value);
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string_view MessageValues::FirstId() const {
  for (size_t place = 0; place < message_->values.size(); ++place) {
    if (message_->spec->fields[place].shape == Shape::kId)
      return std::get<std::string_view>(message_->values[place]);
  }
  return {};
}

uint64_t& Predictor::Past::NumberOf(std::string_view key) {
  const auto found = by_key.find(key);
  return found != by_key.end() ? found->second : by_key[std::string(key)];
}

uint64_t Predictor::TimeOf(std::string_view id) {
  constexpr size_t kTimeBytes = 6;
  uint64_t ms = 0;
  for (size_t i = 0; i < kTimeBytes && i < id.size(); ++i) ms = ms << 8 | static_cast<uint8_t>(id[i]);
  return ms;
}

}  // namespace lagwatch::report::packed
