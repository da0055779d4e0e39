// SPDX-License-Identifier: Apache-2.0
// Reads fields of Java objects, in heaps whose references are plain or compressed addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::jvm {

// A class and one of its own fields, as the JVM writes them: "java/lang/Thread".
struct FieldName {
  std::string_view type;
  std::string_view field;

  bool operator==(const FieldName&) const = default;
};

// Context: watchdog; not thread-safe. A collection may move an object at any time: what is read is to be
// read again.
class Objects {
 public:
  // Both are borrowed.
  void Attach(Memory* memory, const JvmLayout* layout) {
    memory_ = memory;
    layout_ = layout;
  }

  // The object that the field refers to, of an object whose class is `name.type` or derived from it; 0 if it
  // is null or if there is no such field. `name` is of literals.
  uint64_t ReadReference(uint64_t object, const FieldName& name);
  // Whether it is an object of a class; an array is none.
  bool IsObject(uint64_t object) { return ClassOf(object) != 0; }
  bool IsClass(uint64_t klass);

 private:
  static constexpr int kMostSuperclasses = 32;
  static constexpr size_t kMostFieldBytes = 4 << 10;
  struct KnownField {
    FieldName name;
    uint64_t klass = 0;  // that holds the field
    uint32_t offset = 0;
  };

  // 0 if it is no object.
  uint64_t ClassOf(uint64_t object);
  std::optional<uint32_t> FindField(uint64_t klass, const FieldName& name);
  std::optional<uint32_t> ReadOffset(uint64_t klass, uint64_t pool, std::string_view field);
  bool IsNamed(uint64_t symbol, std::string_view name);
  bool IsPoolName(uint64_t pool, uint32_t index, std::string_view name);
  uint64_t Decompress(uint32_t value, uint64_t base_address, uint64_t shift_address);

  Memory* memory_ = nullptr;
  const JvmLayout* layout_ = nullptr;
  std::array<KnownField, 4> known_{};
  size_t known_count_ = 0;
  std::array<uint8_t, kMostFieldBytes> fields_;
};

}  // namespace lagwatch::stack::jvm
