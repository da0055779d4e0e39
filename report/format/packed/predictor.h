// SPDX-License-Identifier: Apache-2.0
// Predicts a field's number from earlier ones: only the difference is stored. Packing and unpacking make the
// same predictions in the same order. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/packed/message.h"

namespace lagwatch::report::packed {

// The values of the message that a prediction may use. `Values` of Predictor has the same functions.
class MessageValues {
 public:
  explicit MessageValues(const Message* message) : message_(message) {}

  // 0 when the field at `place` is no number.
  uint64_t NumberAt(size_t place) const;
  // The bytes of the number or the text; valid as long as the message is unchanged.
  std::string_view KeyAt(size_t place) const;
  // The first id's; empty when it has none.
  std::string_view FirstId() const;

 private:
  const Message* message_;
};

class Predictor {
 public:
  // Of `field`, of the `index`-th message of its list. `values` has the fields before it.
  template <typename Values>
  uint64_t Predict(const FieldSpec& field, size_t index, const Values& values);
  // The prediction.
  template <typename Values>
  void Learn(const FieldSpec& field, size_t index, const Values& values, uint64_t number);

 private:
  struct Past {
    uint64_t last = 0;
    uint64_t step = 0;
    // In order: a hash would let a hostile batch choose keys that collide.
    std::map<std::string, uint64_t, std::less<>> by_key;

    uint64_t& NumberOf(std::string_view key);  // 0 when the key is new
  };

  // A UUIDv7 begins with its time, 48 bits of milliseconds.
  static uint64_t TimeOf(std::string_view id);

  std::vector<Past> past_ = std::vector<Past>(ColumnCount());
};

template <typename Values>
uint64_t Predictor::Predict(const FieldSpec& field, size_t index, const Values& values) {
  constexpr uint64_t kNsPerMs = 1'000'000;
  switch (field.model) {
    case Model::kAsIs:
      return 0;
    case Model::kDelta:
      return past_[field.column].last;
    case Model::kKeyed:
      return past_[field.column].NumberOf(values.KeyAt(field.peer));
    case Model::kAges:
      return index == 0 ? 0 : past_[field.column].last - values.NumberAt(field.peer);
    case Model::kEvenAges:
      return index == 0 ? 0 : past_[field.column].last - past_[field.column].step;
    case Model::kIdTime:
      return TimeOf(values.FirstId()) - values.NumberAt(field.peer) / kNsPerMs;
  }
  return 0;
}

template <typename Values>
void Predictor::Learn(const FieldSpec& field, size_t index, const Values& values, uint64_t number) {
  if (field.model == Model::kAsIs || field.model == Model::kIdTime) return;
  Past& past = past_[field.column];
  if (index != 0) past.step = past.last - number;
  past.last = number;
  if (field.model == Model::kKeyed) past.NumberOf(values.KeyAt(field.peer)) = number;
}

// Whether differences of this model can be below 0.
inline bool IsSigned(Model model) { return model != Model::kAsIs; }

}  // namespace lagwatch::report::packed
