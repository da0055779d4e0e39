// SPDX-License-Identifier: Apache-2.0
// The use of loops by values of the program's own, such as its scene: the parts of hang rates by value. Of
// fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "policies/usage.h"

namespace lagwatch::watchdog {

// The keys that use is counted by, and their present values. Context: watchdog.
class ValueSource {
 public:
  static constexpr size_t kMaxKeys = 4;
  static constexpr size_t kMaxValueBytes = 64;

  virtual ~ValueSource() = default;
  // kMaxKeys at most; the same at each call.
  virtual size_t key_count() const = 0;
  virtual const char* key(size_t index) const = 0;
  // Writes the present value, filled up with zeros; all zeros: the key has none.
  virtual void Read(size_t index, char (&value)[kMaxValueBytes]) const = 0;
};

// By the key's index, which of its values is meant.
using ValueIds = std::array<uint8_t, ValueSource::kMaxKeys>;

// Context: watchdog; not thread-safe.
class ValueUsage {
 public:
  // Of each key, in the life of this object. The last place counts all values that come later.
  static constexpr size_t kMaxValues = 32;
  static constexpr char kOthers[] = "(others)";

  // Null: nothing is counted. Borrowed.
  void SetSource(const ValueSource* source) { source_ = source; }
  // The values of now. They stay valid after Clear().
  ValueIds Present();
  void AddWatched(const ValueIds& values, int64_t watched_ns);
  void AddHang(const ValueIds& values);
  // The duration may also turn out to be shorter than was counted.
  void AddHangTime(const ValueIds& values, int64_t added_ns);
  // Calls visit(key, value, part of the use) for values with some use.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; source_ != nullptr && i < source_->key_count(); ++i) {
      for (size_t id = 0; id < counts_[i]; ++id) {
        const Value& value = values_[i][id];
        if (value.usage != policies::UsagePart{}) visit(source_->key(i), value.text, value.usage);
      }
    }
  }
  void Clear();

 private:
  struct Value {
    char text[ValueSource::kMaxValueBytes + 1];  // with its NUL
    policies::UsagePart usage;
  };
  uint8_t IdOf(size_t key, const char* text);
  template <typename Change>
  void ChangeEach(const ValueIds& values, Change change);

  const ValueSource* source_ = nullptr;
  std::array<uint8_t, ValueSource::kMaxKeys> counts_{};
  std::array<std::array<Value, kMaxValues>, ValueSource::kMaxKeys> values_{};
};

}  // namespace lagwatch::watchdog
